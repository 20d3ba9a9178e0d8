#include "train/optim/dynamic_map.h"

#include <cmath>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace headroom {
namespace {

using torch::Tensor;

// In FP32 throughout, as in bitsandbytes, to get the same last bits.
Tensor map_values(bool is_signed) {
  const auto options = torch::dtype(torch::kFloat);
  std::vector<Tensor> values = {torch::tensor({0.0F, 1.0F}, options)};
  for (int exponent = 0; exponent < 7; ++exponent) {
    const int64_t steps = int64_t{is_signed ? 1 : 2} << exponent;
    const Tensor edges = torch::linspace(0.1, 1, steps + 1, options);
    const Tensor centres = (edges.narrow(0, 0, steps) + edges.narrow(0, 1, steps)) / 2;
    values.push_back(centres * std::pow(10.0, exponent - 6));
    if (is_signed) values.push_back(-values.back());
  }
  return std::get<0>(torch::cat(values).sort());
}

Tensor middles_of(const Tensor& values) {
  const Tensor last = torch::full({1}, std::numeric_limits<float>::infinity());
  const Tensor sums =
      values.narrow(0, 0, CodeTable::kMiddles) + values.narrow(0, 1, CodeTable::kMiddles);
  return torch::cat({sums / 2, last});  // fills the row
}

// The middles are beside the values in the table.
DynamicMap map_of(const Tensor& table, int64_t row) {
  DynamicMap map{.values = table[row],
                 .middles = table[row + 1].narrow(0, 0, CodeTable::kMiddles),
                 .code_table = nullptr};
  if (table.is_cpu()) {
    const std::span<const float, CodeTable::kMiddles> middles(map.middles.const_data_ptr<float>(),
                                                              CodeTable::kMiddles);
    map.code_table = std::make_unique<CodeTable>(middles);
  }
  return map;
}

}  // namespace

DynamicMaps::DynamicMaps(torch::Device device) {
  const Tensor signed_values = map_values(/*is_signed=*/true);
  const Tensor unsigned_values = map_values(/*is_signed=*/false);
  table = torch::stack({signed_values, middles_of(signed_values), unsigned_values,
                        middles_of(unsigned_values)})
              .to(device);
  with_sign = map_of(table, 0);
  without_sign = map_of(table, 2);
}

std::shared_ptr<const DynamicMaps> dynamic_maps(torch::Device device) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<const DynamicMaps>> by_device;
  const std::scoped_lock lock(mutex);
  std::weak_ptr<const DynamicMaps>& kept = by_device[device.str()];
  std::shared_ptr<const DynamicMaps> maps = kept.lock();
  if (!maps) {
    maps = std::make_shared<const DynamicMaps>(device);
    kept = maps;
  }
  return maps;
}

}  // namespace headroom
