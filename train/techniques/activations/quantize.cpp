#include "train/techniques/activations/quantize.h"

#include <algorithm>
#include <limits>

namespace headroom {
namespace {

using torch::Tensor;

at::ScalarType scalar_type(DType codes) {
  return codes == DType::kInt8 ? torch::kInt8 : torch::kFloat8_e4m3fn;
}

// Several whole blocks, or the short one at the end.
struct Part {
  int64_t begin;  // in numbers
  int64_t count;
  int64_t width;  // of a block

  Tensor rows(const Tensor& numbers) const {
    return numbers.narrow(0, begin, count).view({count / width, width});
  }
};

template <typename Visit>
void for_each_part(int64_t numbers, int64_t block, int64_t chunk, const Visit& visit) {
  const int64_t whole = numbers / block * block;
  const int64_t most = std::max<int64_t>(chunk / block, 1) * block;
  for (int64_t begin = 0; begin < whole; begin += most) {
    visit(Part{begin, std::min(most, whole - begin), block});
  }
  if (whole < numbers) visit(Part{whole, numbers - whole, numbers - whole});
}

// The part's scales as a column beside its rows.
Tensor scales_of(const Quantized& quantized, const Part& part) {
  return quantized.scales.narrow(0, part.begin / quantized.block, part.count / part.width)
      .unsqueeze(1);
}

// Runs a compiled operation on whole blocks, if there is one for this type. Codes are bytes there,
// except int8.
bool run_compiled(const std::map<at::ScalarType, OperationPtr>& operations, int64_t block,
                  const Tensor& numbers, const Tensor& codes, const Tensor& scale,
                  std::initializer_list<double> more) {
  const auto found = operations.find(numbers.scalar_type());
  if (found == operations.end() || !found->second || numbers.size(1) != block) return false;
  const bool is_int8 = codes.scalar_type() == torch::kInt8;
  return found->second->run({numbers, is_int8 ? codes : codes.view(torch::kByte), scale}, more);
}

void encode(const Tensor& x, double largest_code, const Tensor& scale, const Tensor& codes) {
  const auto [low, high] = at::aminmax(x, /*dim=*/1, /*keepdim=*/true);
  const Tensor largest = at::maximum(high, low.neg()).to(torch::kFloat32);
  at::div_out(const_cast<Tensor&>(scale), largest, largest_code);
  scale.clamp_min_(std::numeric_limits<float>::min());
  scale.add_(largest - largest);  // NaN if the block has an infinity, as with a NaN
  Tensor scaled = x / scale;
  if (codes.scalar_type() == torch::kInt8) scaled.round_();
  codes.copy_(scaled);
}

}  // namespace

CompiledPacking compiled_packing(const RunSpec& spec, torch::Device device) {
  CompiledPacking all;
  for (const at::ScalarType type : {torch::kFloat32, torch::kBFloat16, torch::kFloat16}) {
    const std::string name = type == torch::kFloat32    ? "float32"
                             : type == torch::kBFloat16 ? "bfloat16"
                                                        : "float16";
    all.pack[type] = compiled_operation(spec, "pack", device, name);
    all.unpack[type] = compiled_operation(spec, "unpack", device, name);
  }
  return all;
}

Quantized quantize(const Tensor& numbers, const Activations& activations,
                   const CompiledPacking& compiled) {
  TORCH_INTERNAL_ASSERT(activations.encoded() && numbers.dim() == 1);
  const CodeType& code = *activations.codes();
  const int64_t block = activations.block;
  const int64_t scales = headroom::scales_of(numbers.numel(), block);
  const Quantized result{
      .codes = torch::empty({numbers.numel()}, numbers.options().dtype(scalar_type(code.type))),
      .scales = torch::empty({scales}, numbers.options().dtype(torch::kFloat32)),
      .block = block};
  for_each_part(numbers.numel(), block, kQuantizeChunk, [&](const Part& part) {
    const Tensor x = part.rows(numbers);
    const Tensor scale = scales_of(result, part);
    const Tensor codes = part.rows(result.codes);
    if (run_compiled(compiled.pack, block, x, codes, scale, {code.largest})) return;
    encode(x, code.largest, scale, codes);
  });
  return result;
}

void dequantize(const Quantized& quantized, const Tensor& numbers,
                const CompiledPacking& compiled) {
  // On a CPU Inductor has vectors of 16 e4m3 codes, which are those of 16 numbers in FP32, but none
  // of the 32 that it takes for 16-bit numbers: there one code after another took seven times as
  // long.
  const bool through_fp32 = numbers.is_cpu() && numbers.scalar_type() != torch::kFloat32 &&
                            quantized.codes.scalar_type() != torch::kInt8;
  const int64_t chunk = through_fp32 ? kCachedChunk : kQuantizeChunk;
  for_each_part(numbers.numel(), quantized.block, chunk, [&](const Part& part) {
    const Tensor out = part.rows(numbers);
    const Tensor codes = part.rows(quantized.codes);
    const Tensor scale = scales_of(quantized, part);
    Tensor value = through_fp32 ? torch::empty_like(out, torch::kFloat32) : out;
    if (!run_compiled(compiled.unpack, quantized.block, value, codes, scale, {})) {
      if (value.scalar_type() != torch::kFloat32) value = torch::empty_like(out, torch::kFloat32);
      value.copy_(codes);
      value.mul_(scale);
    }
    if (!value.is_same(out)) out.copy_(value);
  });
}

}  // namespace headroom
