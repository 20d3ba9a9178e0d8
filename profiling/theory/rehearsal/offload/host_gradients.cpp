#include "profiling/theory/rehearsal/offload/host_gradients.h"

namespace headroom {

void HostGradients::take(const Parameter& parameter) {
  const int64_t bytes = parameter.value.elements() * element_size(parameter.value.dtype);
  const auto room = [&] { return ranges_.take(bytes, [] {}); };
  if (kept_.count(&parameter) == 0) kept_[&parameter] = room();
  if (!arrived_.insert(&parameter).second) more_[&parameter] = room();
}

void HostGradients::let_go(const Parameter& parameter) {
  const auto more = more_.find(&parameter);
  if (more == more_.end()) return;
  ranges_.give_back(more->second);
  more_.erase(more);
}

int64_t HostGradients::state_bytes() const {
  constexpr int64_t kArrays = 3;
  int64_t elements = 0;
  for (const auto& [parameter, ranges] : kept_) elements += parameter->value.elements();
  return kArrays * elements * element_size(DType::kFp32);
}

}  // namespace headroom
