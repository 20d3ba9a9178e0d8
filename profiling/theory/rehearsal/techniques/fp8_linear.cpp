// FP8 matrix products with shapes for tensors. Read beside train/techniques/fp8_linear.cpp: the
// same statements. Letters of shapes as there.
#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/operations/reduce.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

struct Fp8Shape {
  ShapeTensor codes;
  ShapeTensor scale;
};

// The largest magnitude comes out in the numbers' own type.
ShapeTensor scale_of(const ShapeTensor& numbers) {
  Run& run = *numbers.run;
  const ShapeTensor largest = empty(run, {}, numbers.dtype);
  meet_in_memory(run, {.outputs = 1, .inputs = numbers.elements()});
  return numbers.dtype == DType::kFp32 ? largest : empty(run, {}, DType::kFp32);
}

// (..., width) as (N, width).
Fp8Shape to_fp8(const ShapeTensor& numbers) {
  Fp8Shape matrix;
  matrix.scale = scale_of(numbers);
  const int64_t width = numbers.size(-1);
  matrix.codes = empty(*numbers.run, {numbers.elements() / width, width}, DType::kFp8);
  return matrix;
}

Fp8Shape transposed(const Fp8Shape& matrix) {
  const ShapeTensor& codes = matrix.codes;
  return {empty(*codes.run, {codes.size(1), codes.size(0)}, codes.dtype), matrix.scale};
}

ShapeTensor fp8_product(const Fp8Shape& a_MK, const Fp8Shape& b_NK) {
  Run& run = *a_MK.codes.run;
  ShapeTensor product = empty(run, {a_MK.codes.size(0), b_NK.codes.size(0)}, DType::kBf16);
  run.use_lt_workspace();
  return product;
}

ShapeTensor forward_product(const ShapeTensor& x, const Fp8Shape& x_NI,
                            const ShapeTensor& weight_OI) {
  ShapeTensor y = fp8_product(x_NI, to_fp8(weight_OI));
  y.sizes = x.sizes;
  y.sizes[y.sizes.size() - 1] = weight_OI.size(0);
  y.strides = contiguous_strides(y.sizes);
  return y;
}

struct Kept {
  Saved codes, scale, weight;
};

// The caller of the custom function keeps the engine's tensors until it returns.
Tensors backward_of(ShapeTensor& gradient, const Kept& kept, const Dims& sizes) {
  const ShapeTensor held = std::move(gradient);
  gradient = {};
  const ShapeTensor codes = kept.codes.unpack();
  const ShapeTensor scale = kept.scale.unpack();
  const ShapeTensor weight_OI = kept.weight.unpack();
  const Fp8Shape x_IN = {codes, scale};
  Fp8Shape dy = to_fp8(held);
  ShapeTensor dx = view(fp8_product(dy, to_fp8(transpose(weight_OI, 0, 1))), sizes);
  dy = transposed(dy);
  const ShapeTensor dweight = fp8_product(dy, x_IN);
  return {dx, dweight};
}

}  // namespace

ShapeTensor fp8_linear(const ShapeTensor& x, const ShapeTensor& weight_OI) {
  Run& run = *x.run;
  run.memory.site.operation = "fp8_linear";
  const bool recorded = is_recorded({&x, &weight_OI});
  // The operations inside are in no graph.
  ShapeTensor y;
  Fp8Shape x_NI;
  {
    const GradMode no_grad(run, false);
    x_NI = to_fp8(x);
    y = forward_product(x, x_NI, weight_OI);
    if (recorded) x_NI = transposed(x_NI);
  }
  if (!recorded) return y;
  Node& node = attach("Fp8Product", y, {&x, &weight_OI});
  const Kept kept = {Saved(x_NI.codes), Saved(x_NI.scale), Saved(weight_OI)};
  node.apply = [kept, sizes = x.sizes](ShapeTensor& gradient) {
    return backward_of(gradient, kept, sizes);
  };
  return y;
}

}  // namespace headroom
