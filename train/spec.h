// RunSpec: everything that decides what one run computes and how. No torch here.
//
// This is the only place where a setting exists. Flags, JSON, row names and table columns all come
// from fields() below; a new setting is one member and one row there.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"
#include "train/device.h"
#include "train/optim/table.h"
#include "train/parallel/pipeline/schedule.h"
#include "train/vocabulary/activations.h"
#include "train/vocabulary/checkpoint.h"
#include "train/vocabulary/kernels.h"
#include "train/vocabulary/kv_cache.h"
#include "train/vocabulary/mesh.h"
#include "train/vocabulary/mode.h"
#include "train/vocabulary/offload.h"
#include "train/vocabulary/precision.h"
#include "train/vocabulary/weights.h"

namespace headroom {

enum class Stacks { kNone, kCpp };
const EnumWords<Stacks>& words_of(Stacks);

struct RunSpec {
  // What is computed.
  std::string model_size = "small";  // a name of model/config, or "custom" with all dimensions
  int64_t d_model = 0;               // 0 = the named size's; likewise below
  int64_t d_ff = 0;
  int64_t layers = 0;
  int64_t heads = 0;
  int64_t kv_heads = 0;
  int64_t vocab_size = 0;
  int64_t context_length = 512;  // tokens per sequence; eager attention saves O(context^2)
  int64_t batch_size = 4;        // sequences per step; activations grow linearly with it

  // How one step runs.
  Mode profile_type = Mode::kForward;
  int64_t micro_batches = 1;  // parts of the batch that go forward and backward in turn
  Precision precision = Precision::kFp32;
  WeightType weights = WeightType::kFp32;         // kBf16: gradients and activations too, no casts
  MasterCopy master_weights = MasterCopy::kNone;  // kFp32: +4 bytes per BF16 weight, FP32 moments
  Rounding rounding = Rounding::kNearest;         // of updates of BF16 weights without a master
  Kernels kernels = Kernels::kEager;
  Attention attention = Attention::kEager;
  Activations activations;  // form of what autograd saves; 8 bits: a quarter of FP32
  Checkpoint checkpoint;    // what backward computes again instead of keeping it
  OptimizerKind optimizer = OptimizerKind::kAdamw;
  OptimizerImpl optimizer_impl = OptimizerImpl::kReference;
  Offload param_offload;      // where the blocks' weights lie while other blocks compute
  Offload optimizer_offload;  // where states and FP32 masters lie, and where the update is computed
  double learning_rate = 1e-3;  // constant over the run
  double weight_decay = 0.01;   // decoupled, on every parameter
  double max_grad_norm = 0;     // L2, of all gradients together, which are clipped to it; 0 = not
  bool release_gradients = false;  // each parameter is updated inside backward, its gradient freed
  Mesh mesh;                       // ranks; batch_size is that of one replica
  int64_t zero = 0;  // sharded over replicas: 1 the optimizer, 2 gradients too, 3 parameters too
  Reshard reshard_after_forward = Reshard::kAlways;
  int64_t shard_group = 0;  // replicas that share (zero); more of them are copies; 0 = all share
  int64_t prefetch = 1;     // blocks whose weights are fetched ahead of the one that runs (zero 3)
  bool sequence_parallel = false;  // what tensor parallelism leaves whole is split by tokens
  PipelineOrder schedule;          // of pipeline stages (pp)
  int64_t bucket_bytes = int64_t{25} << 20;  // of gradients that are sent together
  Device device;
  int64_t threads = 0;     // CPU threads inside one operation; 0 = libtorch's choice
  std::string alloc_conf;  // PYTORCH_CUDA_ALLOC_CONF of the run; "" = the environment's

  // Generation (kGenerate alone).
  int64_t prompt_len = 0;     // tokens of every prompt; 0 = half of the context
  int64_t response_len = 0;   // new tokens of every sequence, at most; 0 = what then is left of it
  int64_t prefill_chunk = 0;  // tokens of all prompts that go through together; 0 = all of them
  KvCacheForm kv_cache = KvCacheForm::kContiguous;
  KvCacheTypeWord kv_cache_dtype = KvCacheTypeWord::kAuto;  // 2 * layers * kv_dim of it a token
  int64_t kv_cache_tokens = 0;  // room for so many, of all sequences; 0 = for the whole batch
  double temperature = 0;       // logits are divided by it before a draw; 0 = the highest, no draw
  int64_t top_k = 0;            // draws among so many of the highest; 0 = all
  double top_p = 1;             // draws among the highest of so much probability together
  bool decode_graph = false;    // decode is launched as one CUDA graph: memory for fewer launches
  int64_t end_token = -1;       // ends a sequence; -1 = nothing does

  // Data and initial state.
  int64_t seed = 0;                   // weights and random tokens
  std::string tokens;                 // file of token ids; "" = random tokens
  std::string token_type = "uint16";  // width of the ids in the file: uint16 or uint32
  std::string load_weights;           // safetensors file; "" = random initialization
  std::string load_checkpoint;        // directory of --save-checkpoint to go on from; "" = none

  // How it is measured.
  int64_t warmup_steps = 5;    // run first, never recorded, never timed
  int64_t measure_steps = 10;  // timed; memory peaks are the highest over these
  int64_t record_steps = 1;    // run last, every allocation recorded: breakdown and snapshot

  // What is written. These never change a measured number.
  Stacks stacks = Stacks::kCpp;   // C++ stacks in the snapshot
  int64_t max_entries = 1000000;  // allocator events kept; beyond it the oldest are dropped
  std::string snapshot;           // memory_viz file to write; "" = none
  std::string save_weights;       // safetensors file to write after the last step; "" = none
  std::string save_checkpoint;    // directory for weights and states of the optimizer; "" = none
  int64_t save_every = 0;         // steps between checkpoints; 0 = after the last step alone
};

// Where a setting stands in --help.
enum class FieldGroup { kModel, kStep, kGeneration, kMeasurement };
std::string to_string(FieldGroup group);  // "Model and batch"

enum class FieldValue { kInteger, kNumber, kWord, kSwitch, kText, kInputFile, kOutputFile };

// Whether row_name() says it.
enum class InName {
  kAlways,
  kIfChanged,  // where it is not the default
  kNever,      // how and where a result was measured, not what
};

// One setting: how it is typed, stored and printed. Whoever treats some settings differently asks
// here and names none.
struct Field {
  std::string name;                  // JSON key
  std::string help;                  // one line, with the unit
  std::vector<std::string> choices;  // empty = any value its parser takes
  FieldGroup group = FieldGroup::kStep;
  FieldValue value = FieldValue::kText;
  InName in_name = InName::kIfChanged;
  bool changes_result = true;   // part of the key under which a result is found again
  bool required = false;        // has no default that anyone would want
  bool stated = false;          // tables state it where all rows share it, a default too
  bool timed = true;            // a setting of headroom_bench, which times and records nothing
  bool sizes = true;            // a tensor's size or presence depends on it: a setting of theory
  char separator = ',';         // of a list of values; '\0' = one value only
  std::string flag_text = {};   // "--recompute"; empty: fields() makes it of the name
  std::string old_flag = {};    // "--checkpoint": still taken, with a line that says the new one
  std::string other_flag = {};  // as good a spelling

  std::string (*get)(const RunSpec&) = nullptr;
  // Whether get() gives the same of both, and a hash of it, for finding; neither makes the text.
  bool (*same)(const RunSpec&, const RunSpec&) = nullptr;
  uint64_t (*hash)(const RunSpec&) = nullptr;
  void (*parse)(const Field&, RunSpec&, std::string_view text) = nullptr;
  void set(RunSpec& spec, std::string_view text) const;  // UsageError, whose example is example()

  const std::string& flag() const { return flag_text; }  // "--context-length"
  bool numeric() const { return value == FieldValue::kInteger || value == FieldValue::kNumber; }
  // On or off, off by default: "true" or "false", and its flag alone is on.
  bool is_switch() const { return value == FieldValue::kSwitch; }
  bool is_file() const { return value == FieldValue::kInputFile || writes_a_file(); }
  bool writes_a_file() const { return value == FieldValue::kOutputFile; }
  // Flags that can be typed: this one with a value, and what it is refused without.
  std::string example() const;
};
const std::vector<Field>& fields();
const Field* find_field(std::string_view name);  // by JSON key; nullptr when there is none
// By flag, "--context-length", in any of its spellings; likewise.
const Field* find_flag(std::string_view flag);

// The words that --model-size takes: the named sizes, and "custom".
std::vector<std::string> model_size_names();

// The named size with the explicit dimensions put over it. A changed dimension renames it to
// "custom". Throws UsageError on an unknown name or dimensions that do not fit together.
ModelConfig model_config(const RunSpec& spec);

// Throws UsageError naming the field, the value, what is allowed and an example.
void validate(const RunSpec& spec);

// Every field, numbers as numbers. from_json ignores unknown keys and throws UsageError on a value
// that does not parse.
nlohmann::json to_json(const RunSpec& spec);
RunSpec spec_from_json(const nlohmann::json& json);

// "small_ctx512_training_bf16": size, context, mode, how states are kept (the precision's word;
// with BF16 weights "bf16-mixed" or "bf16-pure"), then whatever else of the computation differs
// from the default. Usable as a file name. Device, threads and step counts are not in it.
std::string row_name(const RunSpec& spec);

// How the run keeps weights, gradients, master weights and moments.
const StatePrecision& state_precision(const RunSpec& spec);

// "bf16: autocast to BF16 over FP32 weights"; with BF16 weights how the states are kept.
std::string precision_in_words(const RunSpec& spec);

// What matrix products are computed in.
inline Precision compute_precision(const RunSpec& spec) {
  return spec.weights == WeightType::kBf16 ? Precision::kBf16 : spec.precision;
}

// Warm-up, measured and recorded.
inline int64_t all_steps(const RunSpec& spec) {
  return spec.warmup_steps + spec.measure_steps + spec.record_steps;
}

inline bool is_virtual(const RunSpec& spec) { return spec.device.kind == DeviceKind::kVirtual; }

}  // namespace headroom
