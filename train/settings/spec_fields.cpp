// The one list of settings: fields(). Its order is that of --help and of the table columns.
#include <vector>

#include "train/settings/field_forms.h"
#include "train/settings/spec.h"

namespace headroom {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

using field_forms::activations;
using field_forms::checkpoint;
using field_forms::choice;
using field_forms::device;
using field_forms::file;
using field_forms::integer;
using field_forms::mesh;
using field_forms::number;
using field_forms::offload;
using field_forms::on_off;
using field_forms::schedule;
using field_forms::text;
using field_forms::word;
using R = RunSpec;

// Model and batch.
std::vector<Field> model_fields() {
  return {
      text<&R::model_size>({.name = "model_size",
                            .help = "named shape, or custom with all dimensions given",
                            .choices = model_size_names(),
                            .value = FieldValue::kWord,
                            .in_name = InName::kAlways,
                            .required = true,
                            .stated = true}),
      integer<&R::d_model, 0, kHuge>(
          {"d_model", "residual stream width (0 = as in the named shape)"}),
      integer<&R::d_ff, 0, kHuge>({"d_ff", "SwiGLU inner width (0 = as in the named shape)"}),
      integer<&R::layers, 0, 100000>({"layers", "transformer blocks (0 = as in the named shape)"}),
      integer<&R::heads, 0, kHuge>({"heads", "query heads (0 = as in the named shape)"}),
      integer<&R::kv_heads, 0, kHuge>({"kv_heads", "key/value heads (0 = as in the named shape)"}),
      integer<&R::vocab_size, 0, kHuge>(
          {"vocab_size", "vocabulary size (0 = as in the named shape)"}),
      integer<&R::head_dim, 0, kHuge>({"head_dim", "elements of a head (0 = d_model / heads)"}),
      on_off<&R::tied_embeddings>(
          {.name = "tied_embeddings", .help = "use the token table as output head, one parameter"}),
      on_off<&R::qkv_bias>(
          {.name = "qkv_bias", .help = "biases in the query, key and value projections"}),
      on_off<&R::qk_norm>(
          {.name = "qk_norm", .help = "RMSNorm of each query and key head before its rotation"}),
      integer<&R::context_length, 1, 1 << 24>({.name = "context_length",
                                               .help = "tokens per sequence",
                                               .in_name = InName::kAlways,
                                               .stated = true}),
      integer<&R::batch_size, 1, 1 << 24>(
          {.name = "batch_size", .help = "sequences per step", .stated = true}),
  };
}

// The computation of one step.
std::vector<Field> step_fields() {
  return {
      word<&R::profile_type>({.name = "profile_type",
                              .help = "kind of step",
                              .in_name = InName::kAlways,
                              .stated = true,
                              .other_flag = "--mode"}),
      integer<&R::micro_batches, 1, 1 << 24>(
          {"micro_batches", "micro-batches per step, one backward each; gradients accumulate"}),
      word<&R::precision>({.name = "precision",
                           .help =
                               "precision with FP32 weights; bf16 and fp16 are autocast, fp8 is "
                               "bf16 with FP8 products in the blocks",
                           .in_name = InName::kAlways,
                           .stated = true}),
      word<&R::weights>({.name = "weights",
                         .help = "type of parameters and gradients; bf16 uses no autocast",
                         .in_name = InName::kAlways,
                         .flag_text = "--param-dtype",
                         .old_flag = "--weights"}),
      word<&R::master_weights>({.name = "master_weights",
                                .help = "master copy of BF16 weights for the optimizer",
                                .in_name = InName::kAlways}),
      word<&R::rounding>({"rounding", "rounding of BF16 weight updates without a master copy"}),
      word<&R::kernels>({.name = "kernels",
                         .help = "implementation of the operations",
                         .beside = {{"profile_type", {"forward-backward", "training"}},
                                    {"precision", {"fp32", "tf32", "fp16", "bf16"}},
                                    {"attention", {"eager", "sdpa"}},
                                    {"head_dim", {"0"}},
                                    {"tied_embeddings", {"false"}},
                                    {"qkv_bias", {"false"}},
                                    {"qk_norm", {"false"}}}}),
      on_off<&R::step_graph>({.name = "step_graph",
                              .help = "run a whole step as one CUDA graph, captured once",
                              .sizes = false}),
      word<&R::attention>({"attention",
                           "attention by written-out softmax, scaled_dot_product_attention or one "
                           "kernel of it"}),
  };
}

// Techniques of one process.
std::vector<Field> technique_fields() {
  return {
      checkpoint({.name = "checkpoint",
                  .help = "activations that backward recomputes",
                  .flag_text = "--recompute",
                  .old_flag = "--checkpoint"}),
      activations(
          {"activations", "format of tensors saved for backward (int8:block=64,min=64KiB)"}),
      word<&R::optimizer>({"optimizer", "optimizer for training steps"}),
      word<&R::optimizer_impl>({"optimizer_impl", "implementation of the optimizer step"}),
      offload<&R::param_offload>(
          {"param_offload",
           "location of block weights while other blocks compute; nvme:DIR = in a file"}),
      offload<&R::optimizer_offload>(
          {"optimizer_offload",
           "location of optimizer states and FP32 masters; nvme:DIR[,keep] = in files"}),
      number<&R::learning_rate>(
          {.name = "learning_rate", .help = "constant learning rate", .sizes = false}),
      number<&R::weight_decay>(
          {.name = "weight_decay", .help = "decoupled weight decay", .sizes = false}),
      number<&R::max_grad_norm, 1000000>(
          {"max_grad_norm", "maximum L2 norm of all gradients together (0 = no clipping)"}),
      on_off<&R::release_gradients>(
          {"release_gradients", "update each parameter during backward and free its gradient"}),
  };
}

// The division of the work over ranks.
std::vector<Field> mesh_fields() {
  return {
      mesh({.name = "mesh",
            .help = "ranks per axis (pp, dp, tp), as dp=2,tp=4; the batch is per replica",
            .timed = false}),
      integer<&R::zero, 0, 3>(
          {.name = "zero",
           .help = "ZeRO stage: shard optimizer states (1), gradients too (2), weights too (3)",
           .timed = false}),
      word<&R::reshard_after_forward>(
          {.name = "reshard_after_forward",
           .help = "freeing of gathered weights between forward and backward under --zero 3",
           .timed = false}),
      integer<&R::shard_group, 0, kHuge>(
          {.name = "shard_group",
           .help = "replicas per sharding group of --zero; the groups hold copies (0 = all)",
           .timed = false}),
      integer<&R::prefetch, 0, 1024>(
          {.name = "prefetch",
           .help = "blocks whose weights --zero 3 gathers ahead of the running block",
           .timed = false}),
      on_off<&R::sequence_parallel>(
          {.name = "sequence_parallel",
           .help = "split by tokens the activations between tensor-parallel matrices",
           .timed = false}),
      schedule({.name = "schedule",
                .help = "pipeline schedule: gpipe, 1f1b, interleaved:V with V model pieces per "
                        "stage",
                .timed = false}),
      integer<&R::bucket_bytes, 1, kHuge>(
          {.name = "bucket_bytes",
           .help = "bytes of gradients that replicas reduce in one bucket",
           .timed = false}),
  };
}

// The device, the process and the data of a step.
std::vector<Field> process_fields() {
  return {
      device({.name = "device",
              .help = "auto, cpu, cuda, cuda:N or virtual:CARD[,bytes=SIZE]",
              .in_name = InName::kNever}),
      integer<&R::threads, 0, 4096>({.name = "threads",
                                     .help = "CPU threads per operation (0 = libtorch's choice)",
                                     .in_name = InName::kNever,
                                     .sizes = false}),
      text<&R::alloc_conf>({.name = "alloc_conf",
                            .help = "PYTORCH_CUDA_ALLOC_CONF for the run",
                            .timed = false,
                            .sizes = false,
                            .separator = ';'}),
      integer<&R::seed, 0, kHuge>(
          {.name = "seed", .help = "random seed for weights and random tokens", .sizes = false}),
      file<&R::tokens>(FieldValue::kInputFile,
                       {"tokens", "file of token ids; without it tokens are random"}),
      choice<&R::token_type>({.name = "token_type",
                              .help = "integer type of the ids in --tokens",
                              .choices = {"uint16", "uint32"},
                              .timed = false,
                              .sizes = false}),
      file<&R::load_weights>(FieldValue::kInputFile,
                             {"load_weights", "safetensors file with the initial weights"}),
      text<&R::load_checkpoint>({.name = "load_checkpoint",
                                 .help = "directory of a --save-checkpoint to resume from",
                                 .timed = false,
                                 .sizes = false,
                                 .separator = '\0'}),
  };
}

// Settings of --profile-type generate.
std::vector<Field> generation_fields() {
  return {
      integer<&R::prompt_len, 0, 1 << 24>(
          {"prompt_len", "tokens per prompt (0 = half of the context)"}),
      integer<&R::response_len, 0, 1 << 24>(
          {"response_len", "new tokens per sequence (0 = the rest of the context)"}),
      integer<&R::prefill_chunk, 0, kHuge>(
          {"prefill_chunk", "prompt tokens per prefill pass (0 = all)"}),
      word<&R::kv_cache>({"kv_cache", "memory layout of keys and values"}),
      word<&R::kv_cache_dtype>({"kv_cache_dtype", "storage type of keys and values"}),
      integer<&R::kv_cache_tokens, 0, kHuge>(
          {"kv_cache_tokens",
           "KV-cache capacity in tokens; sequences beyond it wait (0 = enough for the batch)"}),
      on_off<&R::decode_graph>({"decode_graph", "decode with one CUDA graph, captured once"}),
      number<&R::temperature, 1000>(
          {.name = "temperature", .help = "sampling temperature (0 = greedy)", .sizes = false}),
      integer<&R::top_k, 0, kHuge>({.name = "top_k",
                                    .help = "sample among the N most likely tokens (0 = all)",
                                    .sizes = false}),
      number<&R::top_p, 1>(
          {.name = "top_p",
           .help = "sample among the most likely tokens with this total probability",
           .sizes = false}),
      integer<&R::end_token, -1, kHuge>({.name = "end_token",
                                         .help = "token id that ends a sequence (-1 = none)",
                                         .sizes = false}),
  };
}

// Measurement and output.
std::vector<Field> measurement_fields() {
  return {
      integer<&R::warmup_steps, 0, 100000>({.name = "warmup_steps",
                                            .help = "warm-up steps before the measured steps",
                                            .in_name = InName::kNever}),
      integer<&R::measure_steps, 0, 100000>(
          {.name = "measure_steps", .help = "timed steps", .in_name = InName::kNever}),
      integer<&R::record_steps, 0, 1000>(
          {.name = "record_steps",
           .help = "steps with recorded allocations, after the timed steps",
           .in_name = InName::kNever,
           .timed = false}),
      word<&R::stacks>({.name = "stacks",
                        .help = "stack traces of the recorded allocations",
                        .changes_result = false,
                        .timed = false}),
      integer<&R::max_entries, 1, 100000000>({.name = "max_entries",
                                              .help = "maximum number of allocator events kept",
                                              .changes_result = false,
                                              .timed = false}),
      file<&R::snapshot>(FieldValue::kOutputFile, {"snapshot", "file for the memory_viz snapshot"}),
      file<&R::save_weights>(FieldValue::kOutputFile,
                             {"save_weights", "safetensors file for the weights at the end"}),
      text<&R::save_checkpoint>({.name = "save_checkpoint",
                                 .help = "directory for checkpoints: weights and optimizer states",
                                 .changes_result = false,
                                 .timed = false,
                                 .sizes = false,
                                 .separator = '\0'}),
      integer<&R::save_every, 0, 100000>(
          {.name = "save_every",
           .help = "steps between checkpoints (0 = only after the last step)",
           .changes_result = false,
           .timed = false,
           .sizes = false}),
  };
}

std::vector<Field> make_fields() {
  std::vector<Field> all;
  const auto add = [&](FieldGroup group, std::vector<Field> rows) {
    for (Field& row : rows) {
      row.group = group;
      if (row.flag_text.empty()) row.flag_text = "--" + with_dashes(row.name);
      if (group == FieldGroup::kMeasurement) row.sizes = false;  // never a model property
      all.push_back(std::move(row));
    }
  };
  add(FieldGroup::kModel, model_fields());
  add(FieldGroup::kStep, step_fields());
  add(FieldGroup::kStep, technique_fields());
  add(FieldGroup::kStep, mesh_fields());
  add(FieldGroup::kStep, process_fields());
  add(FieldGroup::kGeneration, generation_fields());
  add(FieldGroup::kMeasurement, measurement_fields());
  return all;
}

}  // namespace

const std::vector<Field>& fields() {
  static const std::vector<Field> kFields = make_fields();
  return kFields;
}

const Field* find_field(std::string_view name) {
  for (const Field& field : fields()) {
    if (field.name == name) return &field;
  }
  return nullptr;
}

const Field* find_flag(std::string_view flag) {
  for (const Field& field : fields()) {
    const bool is_other = flag == field.old_flag || flag == field.other_flag;
    if (flag == field.flag() || (is_other && !flag.empty())) return &field;
  }
  return nullptr;
}

const EnumWords<Stacks>& words_of(Stacks) {
  static const EnumWords<Stacks> kWords = {{Stacks::kNone, "none"}, {Stacks::kCpp, "cpp"}};
  return kWords;
}

std::string to_string(FieldGroup group) {
  switch (group) {
    case FieldGroup::kModel:
      return "Model and batch";
    case FieldGroup::kStep:
      return "How a step runs";
    case FieldGroup::kGeneration:
      return "Generation (--profile-type generate)";
    case FieldGroup::kMeasurement:
      break;
  }
  return "Measurement and output";
}

}  // namespace headroom
