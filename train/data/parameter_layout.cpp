#include "train/data/parameter_layout.h"

namespace headroom {
namespace {

using torch::Tensor;

// This rank's part of the file's tensors, on the host, in `dtype` or each in its parameter's type.
NamedTensors numbers_of_file(const NamedTensors& parameters, const ParameterLayout& layout,
                             const std::string& path, std::optional<torch::Dtype> dtype) {
  NamedTensors whole;
  for (const auto& item : parameters) {
    const std::vector<int64_t> sizes = layout.tensors == nullptr
                                           ? item.value().sizes().vec()
                                           : layout.tensors->whole_sizes(item.key(), item.value());
    const auto type = dtype.value_or(item.value().scalar_type());
    whole.insert(item.key(), torch::empty(sizes, torch::dtype(type)));
  }
  load_weights(whole, path, !layout.has_all());
  return layout.tensors == nullptr ? whole : layout.tensors->own(whole);
}

// The parameters gathered over replicas, still this rank's part of each matrix.
NamedTensors without_replicas(const NamedTensors& parameters, const ParameterLayout& layout,
                              const std::vector<Tensor>& masters) {
  if (layout.fully_sharded != nullptr) return layout.fully_sharded->whole_weights(masters);
  NamedTensors named;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& weight = masters.empty() ? parameters[i].value() : masters[i];
    named.insert(parameters[i].key(),
                 layout.offloaded == nullptr ? weight : layout.offloaded->on_host(weight));
  }
  return named;
}

}  // namespace

void load_parameters(const NamedTensors& parameters, const ParameterLayout& layout,
                     const std::string& path) {
  const torch::NoGradGuard no_grad;
  if (layout.offloaded == nullptr && layout.fully_sharded == nullptr && layout.tensors == nullptr) {
    return load_weights(parameters, path, !layout.has_all());
  }
  const NamedTensors here = numbers_of_file(parameters, layout, path, std::nullopt);
  if (layout.fully_sharded != nullptr) return layout.fully_sharded->set(here);
  for (const auto& item : parameters) {
    const Tensor& numbers = here[item.key()];
    if (layout.offloaded != nullptr && layout.offloaded->is_offloaded(item.value())) {
      layout.offloaded->set(item.value(), numbers);
    } else {
      Tensor parameter = item.value();
      parameter.copy_(numbers);
    }
  }
}

NamedTensors first_masters(const RunSpec& spec, const NamedTensors& parameters,
                           const ParameterLayout& layout) {
  if (spec.master_weights != MasterCopy::kFp32 || spec.load_weights.empty()) return NamedTensors();
  const NamedTensors here = numbers_of_file(parameters, layout, spec.load_weights, torch::kFloat32);
  return layout.fully_sharded == nullptr ? here : layout.fully_sharded->cut(here);
}

std::vector<bool> counted_here(const ParameterLayout& layout,
                               const std::vector<std::string>& names) {
  std::vector<bool> counted;
  for (const std::string& name : names) {
    counted.push_back(layout.tensors == nullptr || layout.tensors->counts(name));
  }
  return counted;
}

NamedTensors whole_parameters(const NamedTensors& parameters, const ParameterLayout& layout,
                              const std::vector<Tensor>& masters, torch::Device device) {
  const NamedTensors own = without_replicas(parameters, layout, masters);
  return layout.tensors == nullptr ? own : layout.tensors->whole(own, device);
}

}  // namespace headroom
