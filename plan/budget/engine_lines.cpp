#include "plan/budget/engine_lines.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "cards/cublas_workspace.h"
#include "plan/cost/library_bytes.h"
#include "plan/cost/model_cost.h"
#include "profiling/report/rows/cells.h"

namespace headroom {
namespace {

constexpr double kGiB = 1024.0 * 1024 * 1024;
constexpr int64_t kFp32 = 4;
constexpr const char* kGiven = "as given";

// Capped at 2^62 bytes: the number of layers has no limit.
int64_t gib(double value) { return std::llround(std::min(value * kGiB, 4.6e18)); }

BudgetLine given(const char* name, int64_t bytes) {
  return {.name = name, .bytes = bytes, .origin = FigureOrigin::kGiven, .why = kGiven};
}

// Note [Peak activation of an engine]
// Rationale: vLLM measures it in a run of max-num-batched-tokens tokens in max-num-seqs sequences.
//   Without a card it must be computed, and with today's vocabularies it is gigabytes.
// Approach: the larger of two instants. In a block: gate, up and their product beside four tensors
//   as wide as the residual stream (attention's output, the stream before and after it, the
//   feed-forward's input; two logs give the number four). During sampling: per sequence one row of
//   the vocabulary in the model's type and three in FP32 (logits, probabilities, noise), the buffer
//   of the top-k kernel (FP32, a row per multiprocessor: vllm/v1/sample/ops/topk_topp_triton.py),
//   the last hidden states. The cuBLAS workspace exists at both instants.
// Limits: vLLM 0.17 to 0.20, which sample with the Triton kernel; earlier versions sorted the
//   logits (two to three times as much). results/plan/anchors.md has the distance from published
//   logs.
int64_t block_instant(const EngineSpec& spec) {
  return spec.max_num_batched_tokens * bytes_of(spec.dtype) *
         (3 * shard(spec.model.d_ff, spec.tp) + 4 * spec.model.d_model);
}

int64_t sampling_instant(const EngineSpec& spec) {
  const int64_t rows = std::min(spec.max_num_seqs, spec.max_num_batched_tokens);
  const int64_t programs = std::min(spec.card.multiprocessors, rows);
  const int64_t buffer_rows =
      std::min(static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(programs))),
               spec.card.multiprocessors);
  const int64_t logits = rows * (bytes_of(spec.dtype) + 3 * kFp32) + buffer_rows * kFp32;
  return logits * spec.model.vocab_size +
         (spec.max_num_batched_tokens + rows) * spec.model.d_model * bytes_of(spec.dtype);
}

}  // namespace

BudgetLine weight_line(const EngineSpec& spec) {
  constexpr const char* kName = "Weights";
  if (spec.weights) return given(kName, *spec.weights);
  const ModelElements model = model_elements(spec.model, Head::kLanguage);
  const int64_t head = spec.tied_embeddings ? shard(spec.model.vocab_size, spec.tp) : 0;
  const int64_t elements =
      stage_elements(model, {.tp = spec.tp}, /*stage=*/0).total() - head * spec.model.d_model;
  return {.name = kName,
          .bytes = elements * bytes_of(spec.dtype),
          .why = grouped(elements) + " parameters of this rank x " +
                 std::to_string(bytes_of(spec.dtype)) + " bytes" +
                 (spec.tied_embeddings ? "; one matrix is token table and head" : "")};
}

// Covers the model's whole context, whatever max-model-len is; every rank has it.
BudgetLine rotary_line(const EngineSpec& spec) {
  const int64_t positions =
      spec.model.max_context > 0 ? spec.model.max_context : spec.max_model_len;
  return {.name = "Rotary table",
          .bytes = positions * spec.model.head_dim() * bytes_of(spec.dtype),
          .why =
              "cosine and sine: positions of the context x head dimension; vLLM's log counts it "
              "as weights"};
}

BudgetLine activation_line(const EngineSpec& spec) {
  constexpr const char* kName = "Peak activation";
  if (spec.activations) return given(kName, *spec.activations);
  const int64_t block = block_instant(spec);
  const int64_t sampling = sampling_instant(spec);
  return {
      .name = kName,
      .bytes = std::max(block, sampling) + cublas_workspace_bytes(spec.card.compute_capability),
      .origin = FigureOrigin::kAssumed,
      .why = sampling >= block
                 ? "sampling: logits of max-num-seqs sequences; follows vLLM 0.19's code and logs"
                 : "feed-forward of max-num-batched-tokens tokens; follows vLLM 0.19's logs"};
}

BudgetLine non_torch_line(const EngineSpec& spec) {
  constexpr const char* kName = "Beside torch";
  if (spec.non_torch) return given(kName, *spec.non_torch);
  return {.name = kName,
          .bytes = gib(spec.tp > 1 ? 2.1 : 0.25),
          .origin = FigureOrigin::kAssumed,
          .why = spec.tp > 1 ? "kernels, all-reduce buffers: 2.06 to 2.21 GiB in llm-d-planner's "
                               "logs of vLLM 0.19 on H100"
                             : "kernels: 0.24 to 0.27 GiB in llm-d-planner's logs of vLLM 0.19 on "
                               "H100"};
}

int64_t capture_sizes(int64_t max_num_seqs) {
  const int64_t most = std::min<int64_t>(2 * max_num_seqs, 512);
  int64_t sizes = 0;
  for (const int64_t small : {1, 2, 4}) sizes += small <= most ? 1 : 0;
  for (int64_t size = 8; size <= std::min<int64_t>(most, 255); size += 8) ++sizes;
  for (int64_t size = 256; size <= most; size += 16) ++sizes;
  return sizes;
}

// Each size is captured twice, whole and piecewise, and a graph keeps its launches: 6 MiB for 32
// layers in vLLM 0.19's own log. The first graph also holds the pool that the others share.
BudgetLine graph_line(const EngineSpec& spec) {
  constexpr const char* kName = "CUDA graphs";
  if (spec.enforce_eager) return {.name = kName, .why = "none: --enforce-eager"};
  if (spec.graphs) return given(kName, *spec.graphs);
  constexpr double kPerLayer = 0.2 / 1024;  // GiB per graph
  const int64_t graphs = 2 * capture_sizes(spec.max_num_seqs);
  const double launches = kPerLayer * static_cast<double>(graphs * spec.model.layers);
  return {
      .name = kName,
      .bytes = gib(launches + (spec.tp > 1 ? 0.1 : 0.3)),
      .origin = FigureOrigin::kAssumed,
      .why = std::to_string(graphs) +
             " graphs x layers x 0.2 MiB and a pool; follows llm-d-planner's logs of vLLM 0.19"};
}

BudgetLine nccl_line(const EngineSpec& spec) {
  return {.name = "NCCL",
          .bytes = nccl_bytes(spec.tp),
          .origin = FigureOrigin::kAssumed,
          .why =
              "taken before the engine starts: with the context 1.53 GiB at tp 2, 0.51 GiB at tp 1 "
              "(same logs)"};
}

int64_t cache_block_bytes(const EngineSpec& spec) {
  return 2 * spec.model.layers * (spec.model.kv_dim() / spec.tp) * bytes_of(spec.cache) *
         spec.block_size;
}

}  // namespace headroom
