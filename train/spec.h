// RunSpec: everything that decides what one run computes and how. No torch here.
//
// This is the only place where a setting exists. Flags, JSON, row names and table columns all come
// from fields() below; a new setting is one member and one row there.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

namespace headroom {

enum class Mode {
  kForward,          // inference: NoGradGuard, nothing kept for backward
  kForwardGrad,      // forward that keeps what backward needs
  kForwardBackward,  // forward, loss, backward
  kTraining,         // gradients released, forward, loss, backward, optimizer step
};
enum class Precision {
  kFp32,  // FP32 everywhere
  kTf32,  // FP32 tensors, matrix products rounded to TF32 on the card
  kBf16,  // autocast to BF16; weights stay FP32 (+2 bytes per weight of cast cache)
  kFp16,  // autocast to FP16 with dynamic loss scaling
};
enum class Kernels { kEager };  // the assignment's own operation sequence, one ATen op at a time
enum class Attention { kEager, kFlash };  // written-out softmax; scaled_dot_product_attention
enum class Optimizer { kAdamw };
enum class OptimizerImpl { kReference, kForeach, kFused };
enum class Stacks { kNone, kCpp };

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
  Mode mode = Mode::kForward;
  Precision precision = Precision::kFp32;
  Kernels kernels = Kernels::kEager;
  Attention attention = Attention::kEager;
  Optimizer optimizer = Optimizer::kAdamw;
  OptimizerImpl optimizer_impl = OptimizerImpl::kReference;
  double learning_rate = 1e-3;  // constant over the run
  double weight_decay = 0.01;   // decoupled, on every parameter
  std::string device = "auto";  // auto, cpu, cuda, cuda:N, virtual:CARD[,bytes=SIZE|unlimited]
  int64_t threads = 0;          // CPU threads inside one operation; 0 = libtorch's choice
  std::string alloc_conf;       // PYTORCH_CUDA_ALLOC_CONF of the run; "" = the environment's

  // Data and initial state.
  int64_t seed = 0;                   // weights and random tokens
  std::string tokens;                 // file of token ids; "" = random tokens
  std::string token_type = "uint16";  // width of the ids in the file: uint16 or uint32
  std::string load_weights;           // safetensors file; "" = random initialization

  // How it is measured.
  int64_t warmup_steps = 5;    // run first, never recorded, never timed
  int64_t measure_steps = 10;  // timed; memory peaks are the highest over these
  int64_t record_steps = 1;    // run last, every allocation recorded: breakdown and snapshot

  // What is written. These never change a measured number.
  Stacks stacks = Stacks::kCpp;   // C++ stacks in the snapshot
  int64_t max_entries = 1000000;  // allocator events kept; beyond it the oldest are dropped
  std::string snapshot;           // memory_viz file to write; "" = none
  std::string save_weights;       // safetensors file to write after the last step; "" = none
};

// One setting: how it is typed, stored and printed.
struct Field {
  std::string name;                  // JSON key; the flag is --name with dashes
  std::string help;                  // one line, with the unit
  std::vector<std::string> choices;  // empty = any value its parser takes
  bool changes_result;               // part of the key under which a result is found again
  std::string (*get)(const RunSpec&);
  void (*set)(RunSpec&, std::string_view text);  // throws UsageError
  bool numeric;                                  // the JSON value is a number

  std::string flag() const;  // "--context-length"
};
const std::vector<Field>& fields();
const Field* find_field(std::string_view name);  // by JSON key; nullptr when there is none

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

// "small_ctx512_training_bf16": size, context, mode, precision, then whatever else of the
// computation differs from the default. Usable as a file name. Device, threads and step counts are
// not in it.
std::string row_name(const RunSpec& spec);

// The words of the enumerations, as typed: "forward-grad", "bf16".
std::string to_string(Mode mode);
std::string to_string(Precision precision);
std::string to_string(Attention attention);
std::string to_string(OptimizerImpl impl);

// A device that only keeps the books: memory exactly, no values and no times.
constexpr std::string_view kVirtualPrefix = "virtual:";
inline bool is_virtual(const RunSpec& spec) { return spec.device.starts_with(kVirtualPrefix); }

inline bool uses_autocast(Precision precision) {
  return precision == Precision::kBf16 || precision == Precision::kFp16;
}
inline bool has_backward(Mode mode) {
  return mode == Mode::kForwardBackward || mode == Mode::kTraining;
}

}  // namespace headroom
