// The kernels of attention, and the cases in which each runs. No torch here.
#pragma once

#include <string>

#include "model/config.h"
#include "profiling/theory/rows.h"

namespace headroom {

enum class AttentionKernel { kMath, kCpuFlash, kMemoryEfficient, kFlash, kCudnn };

// The facts behind the choice.
struct AttentionCall {
  bool cpu = false;
  double capability = 0;       // of the card: 8.9
  DType dtype = DType::kFp32;  // of queries, keys and values
  int64_t context = 0;         // tokens of a sequence
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool backward = false;  // tensors are saved for one
};
AttentionCall attention_call(const RunSpec& spec, const ModelConfig& config, DType dtype);

// libtorch's reason against this kernel for such a call, in words; "" = it runs.
std::string refusal(AttentionKernel kernel, const AttentionCall& call);

// For --attention sdpa: the first in libtorch's order that runs.
AttentionKernel chosen_kernel(const AttentionCall& call);

// The kernel requested by name, whether it runs or not.
AttentionKernel forced_kernel(Attention attention, const AttentionCall& call);

// Why the run's --attention does not run on its device; "" = it runs. A card only known as "cuda"
// counts as one of 9.0.
std::string attention_refusal(const RunSpec& spec);
// Throws UsageError if there is such a reason. The device must be resolved. Real cards are not
// checked: libtorch reports it there.
void check_attention(const RunSpec& spec);

}  // namespace headroom
