#include "train/techniques/activations/compressed_activations.h"

#include "train/techniques/activations/quantize.h"

namespace headroom {

using torch::Tensor;

namespace {

class Codes final : public StorageForm {
 public:
  Codes(const Tensor& numbers, const Activations& activations, const CompiledPacking& compiled)
      : quantized_(quantize(numbers, activations, compiled)),
        type_(numbers.scalar_type()),
        compiled_(compiled) {}

  Tensor restore() override {
    Tensor numbers =
        torch::empty(quantized_.codes.sizes(), quantized_.codes.options().dtype(type_));
    dequantize(quantized_, numbers, compiled_);
    return numbers;
  }

 private:
  Quantized quantized_;
  at::ScalarType type_;
  const CompiledPacking& compiled_;  // of the technique, which outlives its graphs
};

}  // namespace

bool is_coded(const Tensor& tensor) {
  const at::ScalarType type = tensor.scalar_type();
  const bool has_codes = type == at::kFloat || type == at::kHalf || type == at::kBFloat16;
  return has_codes && tensor.dim() > 0 && tensor.size(-1) != 1;
}

CompressedActivations::CompressedActivations(const Activations& activations,
                                             CompiledPacking compiled)
    : WholeStorages(activations.min_bytes),
      activations_(activations),
      compiled_(std::move(compiled)) {
  TORCH_INTERNAL_ASSERT(activations.encoded());
}

bool CompressedActivations::takes(const Tensor& tensor) {
  return is_coded(tensor) && WholeStorages::takes(tensor);
}

std::unique_ptr<StorageForm> CompressedActivations::form_of(const Tensor& numbers) {
  return std::make_unique<Codes>(numbers, activations_, compiled_);
}

}  // namespace headroom
