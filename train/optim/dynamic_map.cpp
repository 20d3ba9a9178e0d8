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

constexpr int64_t kCodes = 256;

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
  const Tensor sums = values.narrow(0, 0, kCodes - 1) + values.narrow(0, 1, kCodes - 1);
  return torch::cat({sums / 2, last});  // fills the row
}

}  // namespace

DynamicMaps::DynamicMaps(torch::Device device) {
  const Tensor with_sign = map_values(/*is_signed=*/true);
  const Tensor without = map_values(/*is_signed=*/false);
  table = torch::stack({with_sign, middles_of(with_sign), without, middles_of(without)}).to(device);
  values = table[0];
  middles = table[1].narrow(0, 0, kCodes - 1);
  unsigned_values = table[2];
  unsigned_middles = table[3].narrow(0, 0, kCodes - 1);
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
