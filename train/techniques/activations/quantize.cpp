#include "train/techniques/activations/quantize.h"

#include <algorithm>
#include <limits>

#include "train/techniques/activations/host_codes.h"

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

using ForBlocks = void (*)(const HostBlocks&, HostVectors);

// True if the numbers are of a type that host_codes.h takes: then all blocks are done.
bool run_on_host(ForBlocks run, const Tensor& numbers, const Tensor& codes, const Tensor& scales) {
  const bool is_fp32 = numbers.scalar_type() == torch::kFloat32;
  if (!numbers.is_cpu() || !(is_fp32 || numbers.scalar_type() == torch::kBFloat16)) return false;
  run({.numbers = numbers.data_ptr(),
       .type = is_fp32 ? HostNumber::kFp32 : HostNumber::kBf16,
       .codes = static_cast<uint8_t*>(codes.data_ptr()),
       .is_e4m3 = codes.scalar_type() != torch::kInt8,
       .scales = scales.data_ptr<float>(),
       .count = codes.size(0),
       .width = codes.size(1)},
      widest_vectors());
  return true;
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
    if (run_on_host(encode_on_host, x, codes, scale)) return;
    if (run_compiled(compiled.pack, block, x, codes, scale, {code.largest})) return;
    encode(x, code.largest, scale, codes);
  });
  return result;
}

void dequantize(const Quantized& quantized, const Tensor& numbers,
                const CompiledPacking& compiled) {
  for_each_part(numbers.numel(), quantized.block, kQuantizeChunk, [&](const Part& part) {
    const Tensor out = part.rows(numbers);
    const Tensor codes = part.rows(quantized.codes);
    const Tensor scale = scales_of(quantized, part);
    if (run_on_host(decode_on_host, out, codes, scale)) return;
    if (run_compiled(compiled.unpack, quantized.block, out, codes, scale, {})) return;
    const Tensor value =
        out.scalar_type() == torch::kFloat32 ? out : torch::empty_like(out, torch::kFloat32);
    value.copy_(codes);
    value.mul_(scale);
    if (!value.is_same(out)) out.copy_(value);
  });
}

}  // namespace headroom
