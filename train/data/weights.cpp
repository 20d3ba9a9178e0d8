#include "train/data/weights.h"

#include "text/quantity.h"
#include "train/data/safetensors.h"

namespace headroom {
namespace {

std::string text_of(at::IntArrayRef shape) {
  std::string text = "(";
  for (const int64_t size : shape) text += (text.size() == 1 ? "" : ", ") + std::to_string(size);
  return text + ")";
}

}  // namespace

void load_weights(const NamedTensors& parameters, const std::string& path, bool some) {
  const torch::NoGradGuard no_grad;
  const SafetensorsFile file(path);
  const auto refuse = [&](const std::string& problem) {
    throw UsageError("--load-weights", path, problem, "a file that --save-weights wrote");
  };
  static const std::map<std::string, at::ScalarType> kDtypes = {
      {"F32", at::kFloat}, {"F16", at::kHalf}, {"BF16", at::kBFloat16}, {"F64", at::kDouble}};
  for (const auto& [name, entry] : file.entries()) {
    if (!some && !parameters.contains(name))
      refuse("contains a tensor that this model does not have: " + name);
  }
  for (const auto& item : parameters) {
    const auto it = file.entries().find(item.key());
    if (it == file.entries().end()) refuse("does not contain " + item.key());
    const SafetensorsEntry& entry = it->second;
    const auto dtype = kDtypes.find(entry.dtype);
    if (dtype == kDtypes.end()) refuse("holds " + item.key() + " as " + entry.dtype);
    if (item.value().sizes() != at::IntArrayRef(entry.shape)) {
      refuse("has " + item.key() + " of shape " + text_of(entry.shape) + "; this model's is " +
             text_of(item.value().sizes()));
    }
    // from_blob needs a mutable pointer; the copy below only reads.
    const torch::Tensor stored =
        torch::from_blob(const_cast<void*>(entry.data), entry.shape, dtype->second);
    item.value().copy_(stored);
  }
}

void save_weights(const NamedTensors& parameters, const std::string& path) {
  const auto is_bf16 = [](const torch::Tensor& tensor) {
    return tensor.scalar_type() == torch::kBFloat16;
  };
  std::vector<SafetensorsWriter::Tensor> tensors;
  for (const auto& item : parameters) {
    tensors.push_back(
        {item.key(), is_bf16(item.value()) ? "BF16" : "F32", item.value().sizes().vec()});
  }
  SafetensorsWriter file(path, tensors);
  for (const auto& item : parameters) {
    // One tensor at a time on the host: the whole model may not fit twice.
    const auto dtype = is_bf16(item.value()) ? torch::kBFloat16 : torch::kFloat32;
    const torch::Tensor tensor = item.value().detach().to(torch::kCPU, dtype).contiguous();
    file.append(tensor.const_data_ptr(), static_cast<int64_t>(tensor.nbytes()));
  }
  file.commit();
}

}  // namespace headroom
