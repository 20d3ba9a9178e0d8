#include "bench/dryrun/values/missing_kernels.h"

#include <algorithm>

namespace headroom {
namespace {

std::optional<at::Tensor> histogram(const at::Tensor& values, int64_t bins, int64_t low,
                                    int64_t high) {
  const at::Tensor flat = values.to(at::kLong).contiguous().view({-1});
  const auto* const begin = flat.const_data_ptr<int64_t>();
  const auto* const end = begin + flat.numel();
  if (low == high && begin != end) {
    low = *std::min_element(begin, end);
    high = *std::max_element(begin, end);
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  if (bins <= 0 || low > high) return std::nullopt;  // the card refuses it
  at::Tensor counts = at::zeros({bins}, at::kLong);
  auto* const count = counts.mutable_data_ptr<int64_t>();
  for (const int64_t* value = begin; value != end; ++value) {
    if (*value < low || *value > high) continue;
    count[std::min((*value - low) * bins / (high - low), bins - 1)] += 1;
  }
  return counts.to(values.scalar_type());
}

}  // namespace

std::optional<at::Tensor> missing_on_cpu(const c10::OperatorName& name,
                                         const std::vector<c10::IValue>& arguments) {
  if (name.name != "aten::histc" || arguments.size() != 4 || !arguments[0].isTensor()) {
    return std::nullopt;
  }
  const at::Tensor& values = arguments[0].toTensor();
  if (!at::isIntegralType(values.scalar_type(), /*includeBool=*/false)) return std::nullopt;
  return histogram(values, arguments[1].toInt(), arguments[2].toScalar().toLong(),
                   arguments[3].toScalar().toLong());
}

}  // namespace headroom
