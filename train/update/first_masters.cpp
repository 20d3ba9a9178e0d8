#include "train/update/first_masters.h"

namespace headroom {

NamedTensors first_masters(const RunSpec& spec, const NamedTensors& parameters,
                           const ParameterLayout& layout) {
  const bool rounded = spec.master_weights == MasterCopy::kFp32 && !spec.load_weights.empty();
  return rounded ? masters_of_file(parameters, layout, spec.load_weights) : NamedTensors();
}

std::vector<bool> counted_here(const ParameterLayout& layout,
                               const std::vector<std::string>& names) {
  std::vector<bool> counted;
  for (const std::string& name : names) {
    counted.push_back(layout.tensors == nullptr || layout.tensors->counts(name));
  }
  return counted;
}

}  // namespace headroom
