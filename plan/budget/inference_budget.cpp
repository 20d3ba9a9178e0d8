#include "plan/budget/inference_budget.h"

#include <algorithm>

#include "plan/budget/engine_lines.h"
#include "plan/cost/layout.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr double kMost = 5.7e17;  // below 2^59: sums of all lines stay below 2^63

double number(int64_t value) { return static_cast<double>(value); }

void check_magnitude(const EngineSpec& spec) {
  const ModelConfig& model = spec.model;
  const double d = number(model.d_model);
  const double layers = number(model.layers);
  const double layer = 4 * d * d + 3 * d * number(model.d_ff) + 2 * d;
  const double vocabulary = number(model.vocab_size);
  if (4 * (layers * layer + 2 * d * vocabulary + d) > kMost) {
    throw UsageError("--model-size", model.name, "has weights beyond 2^59 bytes",
                     "--model-size 405b");
  }
  if (number(graph_line(spec).bytes) > kMost) {
    throw UsageError("--layers", std::to_string(model.layers),
                     "makes CUDA graphs beyond 2^59 bytes", "--layers 80");
  }
  const double tokens = number(spec.max_num_batched_tokens);
  if (4 * tokens * (3 * number(model.d_ff) + 5 * d) > kMost) {
    throw UsageError("--max-num-batched-tokens", std::to_string(spec.max_num_batched_tokens),
                     "makes activations beyond 2^59 bytes", "--max-num-batched-tokens 8192");
  }
  const double rows = number(spec.max_num_seqs + spec.card.multiprocessors);
  if (16 * rows * vocabulary + 4 * rows * d > kMost) {
    throw UsageError("--max-num-seqs", std::to_string(spec.max_num_seqs),
                     "makes logits beyond 2^59 bytes", "--max-num-seqs 256");
  }
  if (8 * layers * d * number(spec.block_size) > kMost) {
    throw UsageError("--block-size", std::to_string(spec.block_size),
                     "makes blocks beyond 2^59 bytes", "--block-size 16");
  }
  if (4 * d * number(std::max(spec.max_model_len, model.max_context)) > kMost) {
    throw UsageError("--max-model-len", std::to_string(spec.max_model_len),
                     "makes a rotary table beyond 2^59 bytes", "--max-model-len 4096");
  }
}

void check_given(const char* flag, const std::optional<int64_t>& bytes) {
  if (bytes && number(*bytes) > kMost) {
    throw UsageError(flag, std::to_string(*bytes), "is beyond 2^59 bytes",
                     std::string(flag) + " 1GiB");
  }
}

int64_t sum(const std::vector<BudgetLine>& lines) {
  int64_t bytes = 0;
  for (const BudgetLine& line : lines) bytes += line.bytes;
  return bytes;
}

}  // namespace

std::string to_string(FigureOrigin origin) {
  if (origin == FigureOrigin::kComputed) return "computed";
  if (origin == FigureOrigin::kMeasured) return "measured";
  return origin == FigureOrigin::kAssumed ? "assumed" : "given";
}

void validate(const EngineSpec& spec) {
  check_magnitude(spec);
  check_given("--weight-memory", spec.weights);
  check_given("--activation-memory", spec.activations);
  check_given("--non-torch-memory", spec.non_torch);
  check_given("--graph-memory", spec.graphs);
  check_given("--kv-cache-memory", spec.cache_bytes);
  check_tensor_parallel(spec.tp, spec.model);
  if (spec.model.max_context > 0 && spec.max_model_len > spec.model.max_context) {
    throw UsageError("--max-model-len", std::to_string(spec.max_model_len),
                     "is beyond the context of " + spec.model.name + "; allowed: 1 to " +
                         std::to_string(spec.model.max_context),
                     "--max-model-len " + std::to_string(spec.model.max_context));
  }
}

InferenceBudget inference_budget(const EngineSpec& spec) {
  InferenceBudget budget;
  const int64_t total = spec.card.total_bytes;
  budget.outside = {
      {.name = "CUDA context",
       .bytes = spec.card.context_bytes,
       .origin = spec.card.context_measured ? FigureOrigin::kMeasured : FigureOrigin::kAssumed,
       .why = "of the card table; taken before the engine starts"}};
  if (spec.tp > 1) budget.outside.push_back(nccl_line(spec));
  budget.free_at_start = total - sum(budget.outside);
  budget.inside = {weight_line(spec)};
  if (!spec.weights) budget.inside.push_back(rotary_line(spec));  // vLLM's log counts it as weights
  budget.inside.push_back(non_torch_line(spec));
  budget.inside.push_back(activation_line(spec));
  (spec.graphs_inside ? budget.inside : budget.outside).push_back(graph_line(spec));

  const int64_t taken = sum(budget.inside);
  if (spec.cache_bytes) {
    budget.cache = *spec.cache_bytes;
    budget.share = taken + budget.cache;
  } else {
    budget.share = static_cast<int64_t>(spec.utilization * static_cast<double>(total));
    budget.cache = std::max<int64_t>(budget.share - taken, 0);
    budget.missing = std::max<int64_t>(taken - budget.share, 0);
  }
  budget.block_bytes = cache_block_bytes(spec);
  budget.blocks = budget.cache / budget.block_bytes;
  budget.blocks_per_sequence = (spec.max_model_len + spec.block_size - 1) / spec.block_size;
  budget.left = total - budget.share - sum(budget.outside);
  return budget;
}

}  // namespace headroom
