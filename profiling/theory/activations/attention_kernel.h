// Which kernel computes attention where, and where none does. No torch here.
#pragma once

#include <string>

#include "model/config.h"
#include "profiling/theory/rows.h"

namespace headroom {

enum class AttentionKernel { kMath, kCpuFlash, kMemoryEfficient, kFlash, kCudnn };

// What the choice depends on.
struct AttentionCall {
  bool cpu = false;
  double capability = 0;       // of the card: 8.9
  DType dtype = DType::kFp32;  // of queries, keys and values
  int64_t context = 0;         // tokens of a sequence
  int64_t heads = 0, kv_heads = 0, head_dim = 0;
  bool backward = false;  // something is kept for one
};
AttentionCall attention_call(const RunSpec& spec, const ModelConfig& config, DType dtype);

// What libtorch has against this kernel for such a call, in words; "" = it runs.
std::string refusal(AttentionKernel kernel, const AttentionCall& call);

// Of --attention sdpa: the first in libtorch's order that runs.
AttentionKernel chosen_kernel(const AttentionCall& call);

// Of a kernel that is asked for by name, whether it runs or not.
AttentionKernel forced_kernel(Attention attention, const AttentionCall& call);

// Why the run's own --attention does not run on its device; "" = it does. A card that is only known
// as "cuda" is taken for one of 9.0.
std::string attention_refusal(const RunSpec& spec);
// Throws UsageError where there is such a reason. The device is settled by now; what a real card
// takes, it says itself.
void check_attention(const RunSpec& spec);

}  // namespace headroom
