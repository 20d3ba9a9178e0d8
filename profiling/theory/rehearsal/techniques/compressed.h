// Activations in 8 bit, with shapes for tensors. Read beside train/techniques/
// compressed_activations.h and quantize.h. No torch here.
#pragma once

#include <memory>

#include "profiling/theory/rehearsal/techniques/whole_shapes.h"
#include "train/settings/vocabulary/activations.h"

namespace headroom {

struct QuantizedShape {
  ShapeTensor codes;
  ShapeTensor scales;
};

// For the whole storage of a tensor.
QuantizedShape rehearse_quantize(const ShapeTensor& tensor, const Activations& activations);

// One vector of `type`.
ShapeTensor rehearse_dequantize(const QuantizedShape& quantized, DType type, int64_t block);

// Like is_coded().
bool is_coded(const ShapeTensor& tensor);

class CompressedShapes final : public WholeShapes {
 public:
  // `form` is one of 8 bits.
  explicit CompressedShapes(const Activations& activations);

  bool takes(const ShapeTensor& tensor) const override;

 private:
  std::unique_ptr<ShapeForm> form_of(const ShapeTensor& tensor) override;

  Activations activations_;
};

}  // namespace headroom
