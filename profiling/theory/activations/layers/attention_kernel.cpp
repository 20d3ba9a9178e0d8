// Note [Choice of the attention kernel]
// Rationale: the kernel decides what attention saves for backward. Card, dtype and shape decide the
//   kernel at run time.
// Approach: libtorch 2.11's own conditions for the calls that model/ makes: causal, no dropout, no
//   mask, all dimensions known. --attention sdpa runs the first possible one in its order: cuDNN's
//   on compute capabilities 9 and 10, flash, memory-efficient, math. The CPU has flash and math.
//   Checked against runs on virtual cards by tests/virtual_gpu/steps/theory_test.py, refusals too.
// Limits: cuDNN may refuse a shape that libtorch would give it; this is not checked.
#include "profiling/theory/activations/layers/attention_kernel.h"

#include "profiling/theory/compute_capability.h"

namespace headroom {
namespace {

constexpr const char* kNotOnCpu =
    "runs on cards only; allowed on the CPU: eager, sdpa, math, flash";

std::string found(const char* what, int64_t value) {
  return std::string("; ") + what + " is " + std::to_string(value);
}

std::string needs_capability_8(const AttentionCall& call) {
  if (call.capability >= 8) return "";
  std::string capability = std::to_string(call.capability);
  capability.resize(capability.find('.') + 2);
  return "needs compute capability 8.0; the card's is " + capability;
}

std::string takes_two_bytes(const AttentionCall& call) {
  return call.dtype != DType::kFp32 ? "" : "takes FP16 and BF16 only; the heads are FP32";
}

std::string first_of(std::initializer_list<std::string> reasons) {
  for (const std::string& reason : reasons) {
    if (!reason.empty()) return reason;
  }
  return "";
}

std::string against_flash_width(const AttentionCall& call) {
  if (call.head_dim > 256) {
    return "takes heads of at most 256 elements" + found("the head dimension", call.head_dim);
  }
  const bool small_card = (call.capability > 8.55 && call.capability < 8.95) ||
                          (call.capability > 11.95 && call.capability < 12.15);
  if (small_card && call.backward && call.head_dim > 192 && call.head_dim <= 224) {
    return "has no backward for heads of 193 to 224 elements on such a card" +
           found("the head dimension", call.head_dim);
  }
  return "";
}

std::string against_efficient(const AttentionCall& call) {
  if (call.dtype == DType::kBf16 && call.capability < 8) {
    return "takes BF16 from compute capability 8.0 on";
  }
  const int64_t multiple = call.dtype != DType::kFp32 ? 8 : call.capability >= 8 ? 4 : 1;
  if (call.head_dim % multiple != 0) {
    return "takes heads of a multiple of " + std::to_string(multiple) + " elements" +
           found("the head dimension", call.head_dim);
  }
  if (call.kv_heads != call.heads) return "takes no grouped key/value heads";
  return "";
}

std::string against_cudnn_shape(const AttentionCall& call) {
  const int64_t most = call.capability == 9.0 ? 256 : 128;
  if (call.head_dim > most || call.head_dim % 8 != 0) {
    return "takes heads of a multiple of 8 elements, at most " + std::to_string(most) +
           found("the head dimension", call.head_dim);
  }
  if (call.context == 1) return "takes no sequence of one token";
  return "";
}

}  // namespace

AttentionCall attention_call(const RunSpec& spec, const ModelConfig& config, DType dtype) {
  AttentionCall call{.cpu = follows_cpu_policy(spec),
                     .capability = std::stod(compute_capability(spec)),
                     .dtype = dtype,
                     .context = spec.context_length,
                     .heads = config.heads,
                     .kv_heads = config.kv_heads,
                     .head_dim = config.head_dim(),
                     .backward = builds_graph(spec.profile_type)};
  // Autocast uses FP16 for BF16 on such a card (train/techniques/precision.cpp).
  const bool replaced = !call.cpu && call.capability < 8 && spec.precision == Precision::kBf16;
  if (replaced) call.dtype = DType::kFp16;
  return call;
}

std::string refusal(AttentionKernel kernel, const AttentionCall& call) {
  switch (kernel) {
    case AttentionKernel::kMath:
      return "";
    case AttentionKernel::kCpuFlash:
      return call.cpu ? "" : "runs on the CPU only";
    case AttentionKernel::kFlash:
      return call.cpu ? kNotOnCpu
                      : first_of({needs_capability_8(call), against_flash_width(call),
                                  takes_two_bytes(call)});
    case AttentionKernel::kMemoryEfficient:
      return call.cpu ? kNotOnCpu : against_efficient(call);
    case AttentionKernel::kCudnn:
      return call.cpu ? kNotOnCpu
                      : first_of({needs_capability_8(call), takes_two_bytes(call),
                                  against_cudnn_shape(call)});
  }
  return "";
}

AttentionKernel chosen_kernel(const AttentionCall& call) {
  if (call.cpu) return AttentionKernel::kCpuFlash;
  const bool cudnn_first = call.capability >= 9 && call.capability < 11;
  for (const AttentionKernel kernel :
       {AttentionKernel::kCudnn, AttentionKernel::kFlash, AttentionKernel::kMemoryEfficient}) {
    if (kernel == AttentionKernel::kCudnn && !cudnn_first) continue;
    if (refusal(kernel, call).empty()) return kernel;
  }
  return AttentionKernel::kMath;
}

AttentionKernel forced_kernel(Attention attention, const AttentionCall& call) {
  switch (attention) {
    case Attention::kFlash:
      return call.cpu ? AttentionKernel::kCpuFlash : AttentionKernel::kFlash;
    case Attention::kEfficient:
      return AttentionKernel::kMemoryEfficient;
    case Attention::kCudnn:
      return AttentionKernel::kCudnn;
    case Attention::kMath:
    case Attention::kEager:
    case Attention::kSdpa:
      break;
  }
  return AttentionKernel::kMath;
}

}  // namespace headroom
