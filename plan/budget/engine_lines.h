// The lines of an inference engine's budget, computed from the shape or assumed from published
// logs. No torch here.
#pragma once

#include "plan/budget/inference_budget.h"

namespace headroom {

BudgetLine weight_line(const EngineSpec& spec);
BudgetLine rotary_line(const EngineSpec& spec);
BudgetLine activation_line(const EngineSpec& spec);
BudgetLine non_torch_line(const EngineSpec& spec);
BudgetLine graph_line(const EngineSpec& spec);
BudgetLine nccl_line(const EngineSpec& spec);

// Number of batch sizes captured as CUDA graphs: 1, 2, 4, multiples of 8 below 256, multiples of 16
// up to twice max-num-seqs, 512 at most (vllm/config/vllm.py).
int64_t capture_sizes(int64_t max_num_seqs);

// Keys and values of one block of tokens on one rank.
int64_t cache_block_bytes(const EngineSpec& spec);

}  // namespace headroom
