#include "train/settings/limits.h"

#include <algorithm>

#include "model/parameter_table.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr double kMost = 4611686018427387904.0;  // 2^62: two such sums still fit

double number(int64_t value) { return static_cast<double>(value); }

// True if a (context, context) square of every head may be kept: all but fused attention, and fused
// attention too if libtorch falls back to its math kernel, with grouped FP32 heads.
bool may_keep_scores(const RunSpec& spec, const ModelConfig& config) {
  if (spec.attention == Attention::kSdpa) {
    return !uses_autocast(spec.precision) && config.kv_heads != config.heads;
  }
  return keeps_scores(spec.attention);
}

// Bytes of one token in one block.
double block_bytes_per_token(const RunSpec& spec, const ModelConfig& config) {
  const double square = may_keep_scores(spec, config) ? number(spec.context_length) : 1;
  const double q_dim = number(config.head_dim()) * number(config.heads);
  return 256 * std::max(number(config.d_model), q_dim) + 64 * number(config.d_ff) +
         64 * number(config.heads) * square;
}

}  // namespace

SumBounds sum_bounds(const RunSpec& spec) {
  const ModelConfig config = model_config(spec);
  const double d_model = number(config.d_model);
  const double layers = number(config.layers);
  const double vocab_size = number(config.vocab_size);
  const double parameters = parameter_sum(config, [](const ParameterEntry&) { return true; });
  const double tokens = number(spec.batch_size) * number(spec.context_length);
  const double steps =
      number(spec.warmup_steps) + number(spec.measure_steps) + number(spec.record_steps);
  const double kept =
      tokens * (layers * block_bytes_per_token(spec, config) + 64 * (d_model + vocab_size));
  return {.states = 64 * parameters,
          .activations = kept + d_model * number(config.d_ff),  // a weight's FP8 codes
          .tokens = tokens * steps};
}

void check_computable(const RunSpec& spec) {
  const SumBounds bounds = sum_bounds(spec);
  const std::string context = "with --context-length " + std::to_string(spec.context_length);
  if (bounds.states > kMost) {
    const ModelConfig config = model_config(spec);
    throw UsageError("--model-size", config.name,
                     "with --layers " + std::to_string(config.layers) + ", --d-model " +
                         std::to_string(config.d_model) + ", --d-ff " +
                         std::to_string(config.d_ff) + " and --vocab-size " +
                         std::to_string(config.vocab_size) + " may have states beyond 2^62 bytes",
                     "--model-size 405b");
  }
  if (bounds.states + bounds.activations > kMost) {
    throw UsageError("--batch-size", std::to_string(spec.batch_size),
                     context + " and --attention " + to_string(spec.attention) +
                         " may make activations beyond 2^62 bytes",
                     "--batch-size 4 --context-length 512");
  }
  if (bounds.tokens > kMost) {
    throw UsageError("--measure-steps", std::to_string(spec.measure_steps),
                     context + " and --batch-size " + std::to_string(spec.batch_size) +
                         " reads beyond 2^62 tokens",
                     "--measure-steps 10");
  }
}

}  // namespace headroom
