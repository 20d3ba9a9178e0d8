#include "profiling/theory/rehearsal/techniques/compressed.h"

#include <algorithm>

#include "profiling/theory/activations/compressed.h"
#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/operations/reduce.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/techniques/activations/quantize_chunk.h"

namespace headroom {
namespace {

// One part of a storage: rows of `width` numbers.
struct Part {
  Run& run;
  int64_t rows;
  int64_t width;

  ShapeTensor column(DType dtype) const { return empty(run, {rows, 1}, dtype); }
  ShapeTensor all(DType dtype) const { return empty(run, {rows, width}, dtype); }
};

// A part's memory is freed when the next begins: from the second on they find the allocator as
// they left it, and those after it change nothing.
template <typename Visit>
void for_each_part(Run& run, int64_t numbers, int64_t block, const Visit& visit) {
  constexpr int64_t kThatDiffer = 2;
  const int64_t whole = numbers / block;
  const int64_t most = std::max<int64_t>(kQuantizeChunk / block, 1);
  for (int64_t i = 0; i < std::min(kThatDiffer, whole / most); ++i) visit(Part{run, most, block});
  if (whole % most > 0) visit(Part{run, whole % most, block});
  if (numbers % block > 0) visit(Part{run, 1, numbers % block});
}

// encode() of quantize.cpp.
void encode(const Part& part, DType type) {
  const ShapeTensor low = part.column(type);
  const ShapeTensor high = part.column(type);
  meet_in_memory(
      part.run,
      {.outputs = part.rows, .inputs = part.width, .partial_bytes = 2 * element_size(type)});
  ShapeTensor largest;
  {
    const ShapeTensor negative = part.column(type);
    largest = part.column(type);
    if (type != DType::kFp32) largest = part.column(DType::kFp32);
  }
  part.column(DType::kFp32);  // div_out() by a number divides, then copies
  part.column(DType::kFp32);  // largest - largest
  const ShapeTensor scaled = part.all(DType::kFp32);
}

// Into numbers that are there.
void dequantize(Run& run, int64_t numbers, DType type, int64_t block) {
  if (type == DType::kFp32) return;
  for_each_part(run, numbers, block, [](const Part& part) { part.all(DType::kFp32); });
}

class Codes final : public ShapeForm {
 public:
  Codes(const ShapeTensor& tensor, const Activations& activations)
      : quantized_(rehearse_quantize(tensor, activations)),
        type_(tensor.dtype),
        block_(activations.block) {}

  ShapeTensor restore() override { return rehearse_dequantize(quantized_, type_, block_); }

 private:
  QuantizedShape quantized_;
  DType type_;
  int64_t block_;
};

}  // namespace

QuantizedShape rehearse_quantize(const ShapeTensor& tensor, const Activations& activations) {
  Run& run = *tensor.run;
  run.memory.site.operation = "quantize";
  const int64_t numbers = tensor.storage->bytes() / element_size(tensor.dtype);
  QuantizedShape result;
  result.codes = empty(run, {numbers}, activations.codes()->type);
  result.scales = empty(run, {scales_of(numbers, activations.block)}, DType::kFp32);
  for_each_part(run, numbers, activations.block,
                [&](const Part& part) { encode(part, tensor.dtype); });
  return result;
}

ShapeTensor rehearse_dequantize(const QuantizedShape& quantized, DType type, int64_t block) {
  Run& run = *quantized.codes.run;
  const char* const node = run.memory.site.operation;
  run.memory.site.operation = "dequantize";
  ShapeTensor numbers = empty(run, quantized.codes.sizes, type);
  dequantize(run, numbers.elements(), type, block);
  run.memory.site.operation = node;
  return numbers;
}

bool is_coded(const ShapeTensor& tensor) {
  return is_low_or_single(tensor.dtype) && tensor.dim() > 0 && tensor.size(-1) != 1;
}

CompressedShapes::CompressedShapes(const Activations& activations)
    : WholeShapes(activations.min_bytes), activations_(activations) {}

bool CompressedShapes::takes(const ShapeTensor& tensor) const {
  return is_coded(tensor) && WholeShapes::takes(tensor);
}

std::unique_ptr<ShapeForm> CompressedShapes::form_of(const ShapeTensor& tensor) {
  return std::make_unique<Codes>(tensor, activations_);
}

}  // namespace headroom
