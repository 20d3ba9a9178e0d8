#include "train/initial_weights.h"

namespace headroom {
namespace {

using torch::Tensor;

// This rank's part of the file's tensors, on the host, in `dtype` or each in its parameter's type.
NamedTensors numbers_of_file(const NamedTensors& parameters, const Holders& holders,
                             const std::string& path, std::optional<torch::Dtype> dtype) {
  NamedTensors whole;
  for (const auto& item : parameters) {
    const std::vector<int64_t> sizes = holders.tensors == nullptr
                                           ? item.value().sizes().vec()
                                           : holders.tensors->whole_sizes(item.key(), item.value());
    const auto type = dtype.value_or(item.value().scalar_type());
    whole.insert(item.key(), torch::empty(sizes, torch::dtype(type)));
  }
  load_weights(whole, path, !holders.has_all);
  return holders.tensors == nullptr ? whole : holders.tensors->own(whole);
}

}  // namespace

void load_parameters(const NamedTensors& parameters, const Holders& holders,
                     const std::string& path) {
  const torch::NoGradGuard no_grad;
  if (holders.offloaded == nullptr && holders.shards == nullptr && holders.tensors == nullptr) {
    return load_weights(parameters, path, !holders.has_all);
  }
  const NamedTensors here = numbers_of_file(parameters, holders, path, std::nullopt);
  if (holders.shards != nullptr) return holders.shards->set(here);
  for (const auto& item : parameters) {
    const Tensor& numbers = here[item.key()];
    if (holders.offloaded != nullptr && holders.offloaded->is_away(item.value())) {
      holders.offloaded->set(item.value(), numbers);
    } else {
      Tensor parameter = item.value();
      parameter.copy_(numbers);
    }
  }
}

NamedTensors masters_of_file(const NamedTensors& parameters, const Holders& holders,
                             const std::string& path) {
  const NamedTensors here = numbers_of_file(parameters, holders, path, torch::kFloat32);
  return holders.shards == nullptr ? here : holders.shards->cut(here);
}

}  // namespace headroom
