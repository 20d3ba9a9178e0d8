#include "train/generate/rules.h"

#include <algorithm>

#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kGenerateExample =
    "--profile-type generate --prompt-len 256 --response-len 256";

KvCacheType kept_as(const RunSpec& spec) {
  switch (spec.kv_cache_dtype) {
    case KvCacheTypeWord::kFp32:
      return KvCacheType::kFp32;
    case KvCacheTypeWord::kBf16:
      return KvCacheType::kBf16;
    case KvCacheTypeWord::kFp16:
      return KvCacheType::kFp16;
    case KvCacheTypeWord::kFp8:
      return KvCacheType::kFp8;
    case KvCacheTypeWord::kInt8:
      return KvCacheType::kInt8;
    case KvCacheTypeWord::kAuto:
      break;
  }
  switch (compute_precision(spec)) {
    case Precision::kBf16:
    case Precision::kFp8:
      return KvCacheType::kBf16;
    case Precision::kFp16:
      return KvCacheType::kFp16;
    default:
      return KvCacheType::kFp32;
  }
}

// Generation settings are refused in any other step.
void refuse_elsewhere(const RunSpec& spec) {
  const RunSpec defaults;
  for (const Field& field : fields()) {
    if (field.group != FieldGroup::kGeneration || field.same(spec, defaults)) continue;
    throw UsageError(field.flag(), field.get(spec),
                     "applies to generation, and --profile-type " + to_string(spec.profile_type) +
                         " generates nothing; allowed: with generate",
                     kGenerateExample);
  }
}

void check_lengths(const RunSpec& spec) {
  const std::string context = std::to_string(spec.context_length);
  if (spec.context_length < 2) {
    throw UsageError("--context-length", context,
                     "has no room for a prompt and a response; allowed: 2 or more",
                     kGenerateExample);
  }
  if (prompt_tokens(spec) >= spec.context_length) {
    throw UsageError("--prompt-len", std::to_string(spec.prompt_len),
                     "leaves no room for a response in --context-length " + context +
                         "; allowed: 1 to " + std::to_string(spec.context_length - 1),
                     kGenerateExample);
  }
  if (sequence_tokens(spec) > spec.context_length) {
    throw UsageError("--response-len", std::to_string(spec.response_len),
                     "after a prompt of " + std::to_string(prompt_tokens(spec)) +
                         " is beyond --context-length " + context + "; allowed: 1 to " +
                         std::to_string(spec.context_length - prompt_tokens(spec)),
                     kGenerateExample);
  }
}

void check_cache(const RunSpec& spec) {
  const KvCacheShape shape = kv_cache_shape(spec);
  if (spec.kv_cache_tokens == 0 || shape.at_once() > 0) return;
  const int64_t least = spec.kv_cache == KvCacheForm::kPaged
                            ? shape.blocks_of_a_sequence() * kKvCacheBlock
                            : shape.tokens;
  throw UsageError("--kv-cache-tokens", std::to_string(spec.kv_cache_tokens),
                   "is too small for one sequence of " + std::to_string(shape.tokens) +
                       " tokens; allowed: 0, or " + std::to_string(least) + " or more",
                   "--kv-cache-tokens " + std::to_string(least));
}

void check_sampling(const RunSpec& spec) {
  if (spec.top_p <= 0) {
    throw UsageError("--top-p", find_field("top_p")->get(spec),
                     "leaves no token to sample; allowed: above 0, up to 1 (all tokens)",
                     "--temperature 1 --top-p 0.9");
  }
  if (spec.temperature > 0 || (spec.top_k == 0 && spec.top_p == 1)) return;
  const bool k = spec.top_k != 0;
  throw UsageError(
      k ? "--top-k" : "--top-p", find_field(k ? "top_k" : "top_p")->get(spec),
      "applies to sampling, and --temperature 0 is greedy; allowed: with a --temperature above 0",
      k ? "--temperature 1 --top-k 50" : "--temperature 1 --top-p 0.9");
}

void check_decode_graph(const RunSpec& spec) {
  if (!spec.decode_graph) return;
  if (spec.device.kind == DeviceKind::kCpu) {
    throw UsageError("--decode-graph", "true",
                     "needs CUDA, and --device cpu has none; allowed: with cuda, or a virtual card",
                     "--profile-type generate --decode-graph --device virtual:h200");
  }
  if (spec.param_offload.any()) {
    throw UsageError("--decode-graph", "true",
                     "fixes the addresses of the weights, and --param-offload " +
                         to_string(spec.param_offload) + " moves them; allowed: without it",
                     "--profile-type generate --decode-graph");
  }
}

void check_end_token(const RunSpec& spec) {
  const int64_t vocab_size = model_config(spec).vocab_size;
  if (spec.end_token < vocab_size) return;
  throw UsageError("--end-token", std::to_string(spec.end_token),
                   "is no token of a vocabulary of " + std::to_string(vocab_size) +
                       "; allowed: -1, or 0 to " + std::to_string(vocab_size - 1),
                   "--end-token 0");
}

}  // namespace

int64_t prompt_tokens(const RunSpec& spec) {
  return spec.prompt_len > 0 ? spec.prompt_len : spec.context_length / 2;
}

int64_t response_tokens(const RunSpec& spec) {
  return spec.response_len > 0 ? spec.response_len : spec.context_length - prompt_tokens(spec);
}

KvCacheShape kv_cache_shape(const RunSpec& spec) {
  const ModelConfig config = model_config(spec);
  KvCacheShape shape{.form = spec.kv_cache,
                     .type = kept_as(spec),
                     .layers = config.layers,
                     .kv_heads = config.kv_heads,
                     .head_dim = config.head_dim(),
                     .sequences = spec.batch_size,
                     .tokens = sequence_tokens(spec)};
  if (spec.kv_cache == KvCacheForm::kPaged) {
    const int64_t whole = shape.all_blocks();
    shape.blocks =
        spec.kv_cache_tokens == 0 ? whole : std::min(spec.kv_cache_tokens / kKvCacheBlock, whole);
  } else if (spec.kv_cache_tokens > 0) {
    shape.sequences = std::min(spec.kv_cache_tokens / shape.tokens, shape.sequences);
  }
  return shape;
}

int64_t generation_passes(const RunSpec& spec) {
  const int64_t at_once = kv_cache_shape(spec).at_once();
  int64_t passes = 0;
  for (int64_t begin = 0; begin < spec.batch_size; begin += at_once) {
    const int64_t tokens = std::min(at_once, spec.batch_size - begin) * prompt_tokens(spec);
    const int64_t chunk = spec.prefill_chunk > 0 ? spec.prefill_chunk : tokens;
    passes += (tokens + chunk - 1) / chunk + response_tokens(spec) - 1;
  }
  return passes;
}

void check_generation(const RunSpec& spec) {
  if (spec.profile_type != Mode::kGenerate) return refuse_elsewhere(spec);
  check_lengths(spec);
  check_cache(spec);
  check_sampling(spec);
  check_decode_graph(spec);
  check_end_token(spec);
}

int64_t decodes_run(const RunSpec& spec) {
  constexpr int64_t kEnough = 32;
  return is_virtual(spec) ? kEnough : 0;
}

RunSpec without_generation(RunSpec spec) {
  const RunSpec defaults;
  for (const Field& field : fields()) {
    if (field.group == FieldGroup::kGeneration) field.set(spec, field.get(defaults));
  }
  return spec;
}

}  // namespace headroom
