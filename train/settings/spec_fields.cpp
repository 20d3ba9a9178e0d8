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
                            .help = "named shape, or custom with every dimension given",
                            .choices = model_size_names(),
                            .value = FieldValue::kWord,
                            .in_name = InName::kAlways,
                            .required = true,
                            .stated = true}),
      integer<&R::d_model, 0, kHuge>({"d_model", "residual stream width (0 = the named size's)"}),
      integer<&R::d_ff, 0, kHuge>({"d_ff", "SwiGLU inner width (0 = the named size's)"}),
      integer<&R::layers, 0, 100000>({"layers", "transformer blocks (0 = the named size's)"}),
      integer<&R::heads, 0, kHuge>({"heads", "query heads (0 = the named size's)"}),
      integer<&R::kv_heads, 0, kHuge>({"kv_heads", "key/value heads (0 = the named size's)"}),
      integer<&R::vocab_size, 0, kHuge>({"vocab_size", "vocabulary (0 = the named size's)"}),
      integer<&R::context_length, 1, 1 << 24>({.name = "context_length",
                                               .help = "tokens per sequence",
                                               .in_name = InName::kAlways,
                                               .stated = true}),
      integer<&R::batch_size, 1, 1 << 24>(
          {.name = "batch_size", .help = "sequences per step", .stated = true}),
  };
}

// What one step computes.
std::vector<Field> step_fields() {
  return {
      word<&R::profile_type>({.name = "profile_type",
                              .help = "what one step does",
                              .in_name = InName::kAlways,
                              .stated = true,
                              .other_flag = "--mode"}),
      integer<&R::micro_batches, 1, 1 << 24>(
          {"micro_batches", "parts of the batch, one backward each; gradients add up"}),
      word<&R::precision>({.name = "precision",
                           .help =
                               "arithmetic over FP32 weights; bf16 and fp16 are autocast, fp8 is "
                               "bf16 with FP8 products in the blocks",
                           .in_name = InName::kAlways,
                           .stated = true}),
      word<&R::weights>({.name = "weights",
                         .help = "type of parameters and gradients; bf16 without any autocast",
                         .in_name = InName::kAlways,
                         .flag_text = "--param-dtype",
                         .old_flag = "--weights"}),
      word<&R::master_weights>({.name = "master_weights",
                                .help = "copy of BF16 weights that the optimizer updates",
                                .in_name = InName::kAlways}),
      word<&R::rounding>({"rounding", "of updates of BF16 weights without a master copy"}),
      word<&R::kernels>({"kernels", "implementation of the arithmetic"}),
      word<&R::attention>({"attention",
                           "written-out softmax, or scaled_dot_product_attention: libtorch's "
                           "choice or one kernel"}),
  };
}

// Techniques of one process.
std::vector<Field> technique_fields() {
  return {
      checkpoint({.name = "checkpoint",
                  .help = "what backward computes again instead of keeping it",
                  .flag_text = "--recompute",
                  .old_flag = "--checkpoint"}),
      activations(
          {"activations", "form that autograd's saves are kept in (int8:block=64,min=64KiB)"}),
      word<&R::optimizer>({"optimizer", "optimizer of training steps"}),
      word<&R::optimizer_impl>({"optimizer_impl", "how the optimizer step is computed"}),
      offload<&R::param_offload>(
          {"param_offload",
           "where the blocks' weights lie while other blocks compute, in a file with nvme:DIR"}),
      offload<&R::optimizer_offload>(
          {"optimizer_offload",
           "where optimizer states and FP32 masters lie, in files with nvme:DIR[,keep]"}),
      number<&R::learning_rate>(
          {.name = "learning_rate", .help = "constant learning rate", .sizes = false}),
      number<&R::weight_decay>(
          {.name = "weight_decay", .help = "decoupled weight decay", .sizes = false}),
      number<&R::max_grad_norm, 1000000>(
          {"max_grad_norm", "gradients are clipped to this L2 norm of them all (0 = not)"}),
      on_off<&R::release_gradients>(
          {"release_gradients", "update each parameter inside backward and free its gradient"}),
  };
}

// How ranks share the work.
std::vector<Field> mesh_fields() {
  return {
      mesh({.name = "mesh",
            .help = "ranks along each axis (pp, dp, tp): dp=2,tp=4; the batch is one replica's",
            .timed = false}),
      integer<&R::zero, 0, 3>(
          {.name = "zero",
           .help = "replicas share the optimizer (1), gradients too (2), weights too (3)",
           .timed = false}),
      word<&R::reshard_after_forward>(
          {.name = "reshard_after_forward",
           .help = "whether weights that --zero 3 gathers go between forward and backward",
           .timed = false}),
      integer<&R::shard_group, 0, kHuge>(
          {.name = "shard_group",
           .help = "replicas that share what --zero says, the groups being copies (0 = all share)",
           .timed = false}),
      integer<&R::prefetch, 0, 1024>(
          {.name = "prefetch",
           .help = "blocks whose weights --zero 3 gathers ahead of the one that runs",
           .timed = false}),
      on_off<&R::sequence_parallel>(
          {.name = "sequence_parallel",
           .help = "ranks that share matrices (tp) split by tokens what is between them",
           .timed = false}),
      schedule({.name = "schedule",
                .help = "order in which pipeline stages (pp) run micro-batches: gpipe, 1f1b, "
                        "interleaved:V with V pieces of the model on each",
                .timed = false}),
      integer<&R::bucket_bytes, 1, kHuge>({.name = "bucket_bytes",
                                           .help = "gradients that replicas send together",
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
                            .help = "PYTORCH_CUDA_ALLOC_CONF of the run",
                            .timed = false,
                            .sizes = false,
                            .separator = ';'}),
      integer<&R::seed, 0, kHuge>(
          {.name = "seed", .help = "seed of weights and random tokens", .sizes = false}),
      file<&R::tokens>(FieldValue::kInputFile,
                       {"tokens", "file of token ids; random tokens when empty"}),
      choice<&R::token_type>({.name = "token_type",
                              .help = "width of the ids in --tokens",
                              .choices = {"uint16", "uint32"},
                              .timed = false,
                              .sizes = false}),
      file<&R::load_weights>(FieldValue::kInputFile,
                             {"load_weights", "safetensors file with the initial weights"}),
      text<&R::load_checkpoint>({.name = "load_checkpoint",
                                 .help = "directory of --save-checkpoint to go on from",
                                 .timed = false,
                                 .sizes = false,
                                 .separator = '\0'}),
  };
}

// Settings of --profile-type generate.
std::vector<Field> generation_fields() {
  return {
      integer<&R::prompt_len, 0, 1 << 24>(
          {"prompt_len", "tokens of every prompt (0 = half of the context)"}),
      integer<&R::response_len, 0, 1 << 24>(
          {"response_len", "new tokens of every sequence (0 = what is left of the context)"}),
      integer<&R::prefill_chunk, 0, kHuge>(
          {"prefill_chunk", "tokens of prompts that go through together (0 = all)"}),
      word<&R::kv_cache>({"kv_cache", "how keys and values are laid out"}),
      word<&R::kv_cache_dtype>({"kv_cache_dtype", "what keys and values are kept as"}),
      integer<&R::kv_cache_tokens, 0, kHuge>(
          {"kv_cache_tokens", "room of the cache; what does not fit waits (0 = for the batch)"}),
      on_off<&R::decode_graph>({"decode_graph", "decode as one CUDA graph, captured once"}),
      number<&R::temperature, 1000>(
          {.name = "temperature", .help = "of the draw (0 = the highest)", .sizes = false}),
      integer<&R::top_k, 0, kHuge>(
          {.name = "top_k", .help = "draw among so many of the highest (0 = all)", .sizes = false}),
      number<&R::top_p, 1>({.name = "top_p",
                            .help = "draw among the highest of so much probability together",
                            .sizes = false}),
      integer<&R::end_token, -1, kHuge>(
          {.name = "end_token", .help = "ends a sequence (-1 = nothing does)", .sizes = false}),
  };
}

// Measurement and output.
std::vector<Field> measurement_fields() {
  return {
      integer<&R::warmup_steps, 0, 100000>({.name = "warmup_steps",
                                            .help = "steps before anything is measured",
                                            .in_name = InName::kNever}),
      integer<&R::measure_steps, 0, 100000>(
          {.name = "measure_steps", .help = "timed steps", .in_name = InName::kNever}),
      integer<&R::record_steps, 0, 1000>({.name = "record_steps",
                                          .help = "recorded steps, after the timed ones",
                                          .in_name = InName::kNever,
                                          .timed = false}),
      word<&R::stacks>({.name = "stacks",
                        .help = "stacks of the recorded allocations",
                        .changes_result = false,
                        .timed = false}),
      integer<&R::max_entries, 1, 100000000>({.name = "max_entries",
                                              .help = "allocator events kept",
                                              .changes_result = false,
                                              .timed = false}),
      file<&R::snapshot>(FieldValue::kOutputFile, {"snapshot", "memory_viz snapshot to write"}),
      file<&R::save_weights>(FieldValue::kOutputFile,
                             {"save_weights", "safetensors file to write at the end"}),
      text<&R::save_checkpoint>({.name = "save_checkpoint",
                                 .help = "directory for weights and states of the optimizer",
                                 .changes_result = false,
                                 .timed = false,
                                 .sizes = false,
                                 .separator = '\0'}),
      integer<&R::save_every, 0, 100000>(
          {.name = "save_every",
           .help = "steps between checkpoints (0 = after the last step alone)",
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
  return "What is measured and written";
}

}  // namespace headroom
