// Example flags for the error messages of settings; each example runs as it stands. No torch here.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "text/quantity.h"
#include "train/settings/spec.h"

namespace headroom {
namespace {

struct Example {
  std::string_view field;
  std::string_view flags;
  std::string_view form = "";  // the start of typed values
};

// Settings that need other flags, or whose first choice is not a typical value.
constexpr auto kExamples = std::to_array<Example>({
    {"d_model", "--d-model 512 --heads 8"},
    {"micro_batches", "--profile-type training --micro-batches 2"},
    {"master_weights", "--param-dtype bf16 --master-weights fp32"},
    {"rounding", "--param-dtype bf16 --rounding stochastic"},
    {"kernels", "--profile-type training --device cpu --kernels compiled"},
    {"step_graph",
     "--step-graph --device virtual:h200 --profile-type training --optimizer-impl fused"},
    {"checkpoint", "--profile-type training --recompute every:2", "every:"},
    {"checkpoint", "--profile-type training --recompute blocks:50%", "blocks:"},
    {"checkpoint", "--profile-type training --recompute budget:0.5 --kernels compiled --device cpu",
     "budget:"},
    {"checkpoint", "--profile-type training --recompute full"},
    {"activations", "--profile-type training --activations int8:block=64,min=64KiB", "int8:"},
    {"activations", "--profile-type training --activations int8"},
    {"param_offload", "--profile-type training --param-offload cpu --optimizer-offload cpu"},
    {"optimizer_offload", "--profile-type training --optimizer-offload cpu"},
    {"max_grad_norm", "--profile-type training --max-grad-norm 1"},
    {"release_gradients", "--profile-type training --max-grad-norm 0 --release-gradients"},
    {"mesh", "--profile-type training --mesh dp=2,tp=4"},
    {"zero", "--profile-type training --mesh dp=2 --zero 3"},
    {"reshard_after_forward",
     "--profile-type training --mesh dp=2 --zero 3 --reshard-after-forward never"},
    {"shard_group", "--profile-type training --mesh dp=4 --zero 3 --shard-group 2"},
    {"prefetch", "--profile-type training --mesh dp=2 --zero 3 --prefetch 2"},
    {"sequence_parallel", "--profile-type training --mesh tp=2 --sequence-parallel"},
    {"schedule", "--profile-type training --mesh pp=2 --schedule gpipe"},
    {"device", "--device virtual:h200"},
    {"alloc_conf", "--alloc-conf expandable_segments:True"},
    {"tokens", "--tokens data/train.bin --token-type uint16"},
    {"load_weights", "--load-weights weights.safetensors"},
    {"snapshot", "--snapshot snapshot.pickle"},
    {"save_weights", "--device cpu --save-weights weights.safetensors"},
    {"load_checkpoint", "--profile-type training --device cpu --load-checkpoint checkpoints"},
    {"save_checkpoint", "--profile-type training --device cpu --save-checkpoint checkpoints"},
    {"save_every",
     "--profile-type training --device cpu --save-checkpoint checkpoints --save-every 100"},
    {"prompt_len", "--profile-type generate --prompt-len 64"},
    {"response_len", "--profile-type generate --response-len 64"},
    {"prefill_chunk", "--profile-type generate --prefill-chunk 64"},
    {"kv_cache", "--profile-type generate --kv-cache paged"},
    {"kv_cache_dtype", "--profile-type generate --kv-cache-dtype fp8"},
    {"kv_cache_tokens", "--profile-type generate --kv-cache-tokens 65536"},
    {"decode_graph", "--profile-type generate --decode-graph --device virtual:h200"},
    {"temperature", "--profile-type generate --temperature 0.7"},
    {"top_k", "--profile-type generate --temperature 1 --top-k 50"},
    {"top_p", "--profile-type generate --temperature 1 --top-p 0.9"},
    {"end_token", "--profile-type generate --end-token 2"},
});

std::string usual_value(const Field& field) {
  if (!field.choices.empty()) return field.choices.front();
  if (field.name == "context_length") return "512";
  return field.numeric() ? "4" : field.name;
}

// The example for a refused value of several forms has the form that was typed.
std::string example_for(const Field& field, std::string_view typed) {
  const auto* const found = std::find_if(
      kExamples.begin(), kExamples.end(),
      [&](const Example& one) { return one.field == field.name && typed.starts_with(one.form); });
  if (found != kExamples.end()) return std::string(found->flags);
  return field.is_switch() ? field.flag() : field.flag() + " " + usual_value(field);
}

}  // namespace

std::string Field::example() const { return example_for(*this, ""); }

void Field::set(RunSpec& spec, std::string_view text) const {
  try {
    parse(*this, spec, text);
  } catch (const UsageError& error) {
    throw error.with_example(example_for(*this, text));
  }
}

}  // namespace headroom
