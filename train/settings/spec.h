// RunSpec: everything that decides what one run computes and how. No torch here.
//
// The only definition of a setting. Flags, JSON, row names and table columns all come from fields()
// below; a new setting is one member and one row there.
#pragma once

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "train/optim/table.h"
#include "train/parallel/pipeline/schedule.h"
#include "train/settings/device/device.h"
#include "train/settings/vocabulary/activations.h"
#include "train/settings/vocabulary/checkpoint.h"
#include "train/settings/vocabulary/kernels.h"
#include "train/settings/vocabulary/kv_cache.h"
#include "train/settings/vocabulary/mesh.h"
#include "train/settings/vocabulary/mode.h"
#include "train/settings/vocabulary/offload.h"
#include "train/settings/vocabulary/precision.h"
#include "train/settings/vocabulary/weights.h"

namespace headroom {

enum class Stacks { kNone, kCpp };
const EnumWords<Stacks>& words_of(Stacks);

struct RunSpec {
  // Model and batch.
  std::string model_size = "small";  // a name of model/config, or "custom" with all dimensions
  int64_t d_model = 0;               // 0 = the named size's; also below
  int64_t d_ff = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t vocab_size = 0;
  int64_t head_dim = 0;          // elements of a head; 0 = d_model / heads
  bool tied_embeddings = false;  // the token table is the output head: one parameter less
  bool qkv_bias = false;         // biases of the query, key and value projections
  bool qk_norm = false;  // RMSNorm of query and key heads; it saves their projections in FP32
  int64_t context_length = 512;  // tokens per sequence; eager attention saves O(context^2)
  int64_t batch_size = 4;        // sequences per step; activations grow linearly with it

  // How one step runs.
  Mode profile_type = Mode::kForward;
  int64_t micro_batches = 1;  // parts of the batch, each with its own forward and backward
  Precision precision = Precision::kFp32;
  WeightType weights = WeightType::kFp32;         // kBf16: gradients and activations too, no casts
  MasterCopy master_weights = MasterCopy::kNone;  // kFp32: +4 bytes per BF16 weight, FP32 moments
  Rounding rounding = Rounding::kNearest;         // for updates of BF16 weights without a master
  Kernels kernels = Kernels::kEager;
  bool step_graph = false;  // a step is one CUDA graph: its activations stay reserved
  Attention attention = Attention::kEager;
  Activations activations;  // format of saved activations; 8 bits: a quarter of FP32
  Checkpoint checkpoint;    // recomputation in backward
  OptimizerKind optimizer = OptimizerKind::kAdamw;
  OptimizerImpl optimizer_impl = OptimizerImpl::kReference;
  Offload param_offload;           // where the blocks' weights are while other blocks compute
  Offload optimizer_offload;       // where states and FP32 masters are, and the update runs
  double learning_rate = 1e-3;     // constant over the run
  double weight_decay = 0.01;      // decoupled, on every parameter
  double max_grad_norm = 0;        // clips all gradients to this global L2 norm; 0 = off
  bool release_gradients = false;  // backward updates each parameter and frees its gradient
  Mesh mesh;                       // ranks; batch_size is per replica
  int64_t zero = 0;  // shards over replicas: 1 the optimizer, 2 gradients too, 3 parameters too
  Reshard reshard_after_forward = Reshard::kAlways;
  int64_t shard_group = 0;  // replicas per shard group (zero); the groups are copies; 0 = all share
  int64_t prefetch = 1;     // blocks whose weights are fetched ahead of the running one (zero 3)
  bool sequence_parallel = false;  // splits by tokens what tensor parallelism leaves whole
  PipelineOrder schedule;          // of pipeline stages (pp)
  int64_t bucket_bytes = int64_t{25} << 20;  // gradients per message
  Device device;
  int64_t threads = 0;     // CPU threads inside one operation; 0 = libtorch's choice
  std::string alloc_conf;  // PYTORCH_CUDA_ALLOC_CONF of the run; "" = the environment's

  // Generation (kGenerate only).
  int64_t prompt_len = 0;     // tokens of every prompt; 0 = half of the context
  int64_t response_len = 0;   // most new tokens per sequence; 0 = the rest of the context
  int64_t prefill_chunk = 0;  // tokens of all prompts per prefill pass; 0 = all of them
  KvCacheForm kv_cache = KvCacheForm::kContiguous;
  KvCacheTypeWord kv_cache_dtype = KvCacheTypeWord::kAuto;  // 2 * layers * kv_dim per token
  int64_t kv_cache_tokens = 0;  // room in tokens, for all sequences; 0 = for the whole batch
  double temperature = 0;       // divides the logits before sampling; 0 = greedy
  int64_t top_k = 0;            // samples among this many highest; 0 = all
  double top_p = 1;             // samples among the highest with this total probability
  bool decode_graph = false;    // decode is one CUDA graph: memory for fewer launches
  int64_t end_token = -1;       // ends a sequence; -1 = none

  // Data and initial state.
  int64_t seed = 0;                   // weights and random tokens
  std::string tokens;                 // file of token ids; "" = random tokens
  std::string token_type = "uint16";  // width of the ids in the file: uint16 or uint32
  std::string load_weights;           // safetensors file; "" = random initialization
  std::string load_checkpoint;        // directory of --save-checkpoint to resume from; "" = none

  // Measurement.
  int64_t warmup_steps = 5;    // run first, never recorded, never timed
  int64_t measure_steps = 10;  // timed; memory peaks are the highest over these
  int64_t record_steps = 1;    // run last, every allocation recorded: breakdown and snapshot

  // Output. These settings never change a measured number.
  Stacks stacks = Stacks::kCpp;   // C++ stacks in the snapshot
  int64_t max_entries = 1000000;  // allocator events kept; the oldest are dropped beyond it
  std::string snapshot;           // memory_viz file to write; "" = none
  std::string save_weights;       // safetensors file to write after the last step; "" = none
  std::string save_checkpoint;    // directory for weights and states of the optimizer; "" = none
  int64_t save_every = 0;         // steps between checkpoints; 0 = after the last step only
};

// The setting of each dimension; 0 = the named size's.
struct DimensionSetting {
  int64_t RunSpec::*given;
  int64_t ModelConfig::*size;
};
inline constexpr auto kDimensionSettings = std::to_array<DimensionSetting>({
    {&RunSpec::d_model, &ModelConfig::d_model},
    {&RunSpec::d_ff, &ModelConfig::d_ff},
    {&RunSpec::layers, &ModelConfig::layers},
    {&RunSpec::heads, &ModelConfig::heads},
    {&RunSpec::kv_heads, &ModelConfig::kv_heads},
    {&RunSpec::vocab_size, &ModelConfig::vocab_size},
    {&RunSpec::head_dim, &ModelConfig::head_size},
});
static_assert(kDimensionSettings.size() == kDimensions.size());

// The setting of each layer that a model may have besides.
struct LayerSetting {
  bool RunSpec::*given;
  bool ModelConfig::*on;
};
inline constexpr auto kLayerSettings = std::to_array<LayerSetting>({
    {&RunSpec::tied_embeddings, &ModelConfig::tied_embeddings},
    {&RunSpec::qkv_bias, &ModelConfig::qkv_bias},
    {&RunSpec::qk_norm, &ModelConfig::qk_norm},
});
static_assert(kLayerSettings.size() == kLayerSwitches.size());

// Section of --help.
enum class FieldGroup { kModel, kStep, kGeneration, kMeasurement };
std::string to_string(FieldGroup group);  // "Model and batch"

enum class FieldValue { kInteger, kNumber, kWord, kSwitch, kText, kInputFile, kOutputFile };

// Presence of the setting in row_name().
enum class InName {
  kAlways,
  kIfChanged,  // if not the default
  kNever,      // it affects how and where a result is measured, not the result
};

// The values of another setting beside which a setting can differ from its default.
struct Beside {
  std::string setting;              // JSON key
  std::vector<std::string> values;  // the last one is the example's
};

// One setting: its flag, storage and output. Code that treats some settings differently reads a
// member here and names no setting.
struct Field {
  std::string name;                  // JSON key
  std::string help;                  // one line, with the unit
  std::vector<std::string> choices;  // empty = any value its parser takes
  FieldGroup group = FieldGroup::kStep;
  FieldValue value = FieldValue::kText;
  InName in_name = InName::kIfChanged;
  bool changes_result = true;   // part of the key of a stored result
  bool required = false;        // has no useful default
  bool stated = false;          // tables state it if all rows share it, even the default
  bool timed = true;            // a setting of headroom_bench, which times and records nothing
  bool sizes = true;            // a tensor's size or presence depends on it: a setting of theory
  char separator = ',';         // between the values of a list; '\0' = one value only
  std::string flag_text = {};   // "--recompute"; empty: fields() derives it from the name
  std::string old_flag = {};    // "--checkpoint": still taken, with a line naming the new one
  std::string other_flag = {};  // an equal spelling
  std::vector<Beside> beside = {};  // settings not listed may have any value

  std::string (*get)(const RunSpec&) = nullptr;
  // same: get() is equal for both. hash: of get(), for lookup. Neither makes the text.
  bool (*same)(const RunSpec&, const RunSpec&) = nullptr;
  uint64_t (*hash)(const RunSpec&) = nullptr;
  void (*parse)(const Field&, RunSpec&, std::string_view text) = nullptr;
  void set(RunSpec& spec, std::string_view text) const;  // throws UsageError with example()

  const std::string& flag() const { return flag_text; }  // "--context-length"
  bool numeric() const { return value == FieldValue::kInteger || value == FieldValue::kNumber; }
  // A switch is "true" or "false", false by default; the flag alone means true.
  bool is_switch() const { return value == FieldValue::kSwitch; }
  bool is_file() const { return value == FieldValue::kInputFile || writes_a_file(); }
  bool writes_a_file() const { return value == FieldValue::kOutputFile; }
  // Working flags: this one with a value, plus the flags it requires.
  std::string example() const;
};
const std::vector<Field>& fields();
const Field* find_field(std::string_view name);  // by JSON key; nullptr if none
// By flag, "--context-length", in any of its spellings; nullptr if none.
const Field* find_flag(std::string_view flag);

// The values of --model-size: the named sizes, and "custom".
std::vector<std::string> model_size_names();

// The named size with the explicit dimensions put over it. A changed dimension renames it to
// "custom". Throws UsageError on an unknown name or dimensions that do not fit together.
ModelConfig model_config(const RunSpec& spec);

// Throws UsageError with the field, the value, the allowed values and an example.
void validate(const RunSpec& spec);

// Every field; numbers stay numbers. from_json ignores unknown keys and throws UsageError on a
// value that does not parse.
nlohmann::json to_json(const RunSpec& spec);
RunSpec spec_from_json(const nlohmann::json& json);

// "small_ctx512_training_bf16": size, context, mode, precision of the states (the precision's word;
// with BF16 weights "bf16-mixed" or "bf16-pure"), then every other setting that differs from its
// default. Usable as a file name. Leaves out device, threads and step counts.
std::string row_name(const RunSpec& spec);

// The precision of weights, gradients, master weights and moments.
const StatePrecision& state_precision(const RunSpec& spec);

// "bf16: autocast to BF16 over FP32 weights"; with BF16 weights, the types of the states.
std::string precision_in_words(const RunSpec& spec);

// The precision of the matrix products.
inline Precision compute_precision(const RunSpec& spec) {
  return spec.weights == WeightType::kBf16 ? Precision::kBf16 : spec.precision;
}

// Warm-up, measured and recorded steps.
inline int64_t all_steps(const RunSpec& spec) {
  return spec.warmup_steps + spec.measure_steps + spec.record_steps;
}

inline bool is_virtual(const RunSpec& spec) { return spec.device.kind == DeviceKind::kVirtual; }

}  // namespace headroom
