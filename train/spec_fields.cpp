// The one list of settings: fields(). The order is the order of --help and of the table columns.
#include <algorithm>
#include <array>
#include <charconv>

#include "text/quantity.h"
#include "text/words.h"
#include "train/spec.h"

namespace headroom {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

std::string flag_of(std::string_view name) {
  std::string flag = "--" + std::string(name);
  std::replace(flag.begin(), flag.end(), '_', '-');
  return flag;
}

// The shortest text that reads back as the same number.
std::string shortest(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

// The rows below name a member and a few facts; these templates supply get and set for its type. A
// row's name is kept beside its setter, which is a plain function and cannot carry it.
template <auto kMember>
std::string& name_of() {
  static std::string name;
  return name;
}

template <auto kMember, int64_t kMinimum, int64_t kMaximum>
Field integer(Field field) {
  name_of<kMember>() = field.name;
  field.value = FieldValue::kInteger;
  field.get = [](const RunSpec& spec) { return std::to_string(spec.*kMember); };
  field.set = [](RunSpec& spec, std::string_view text) {
    spec.*kMember = parse_integer(flag_of(name_of<kMember>()), text, kMinimum, kMaximum);
  };
  return field;
}

template <auto kMember>
Field number(Field field) {
  name_of<kMember>() = field.name;
  field.value = FieldValue::kNumber;
  field.get = [](const RunSpec& spec) { return shortest(spec.*kMember); };
  field.set = [](RunSpec& spec, std::string_view text) {
    spec.*kMember = parse_number(flag_of(name_of<kMember>()), text, 0.0, 10.0);
  };
  return field;
}

// Any text; what it may be is checked by validate() or by who opens the file.
template <auto kMember>
Field text(Field field) {
  field.get = [](const RunSpec& spec) { return spec.*kMember; };
  field.set = [](RunSpec& spec, std::string_view value) { spec.*kMember = std::string(value); };
  return field;
}

// One of the row's choices.
template <auto kMember>
Field choice(Field field) {
  name_of<kMember>() = field.name;
  field = text<kMember>(std::move(field));
  field.value = FieldValue::kWord;
  field.set = [](RunSpec& spec, std::string_view value) {
    const Field& row = *find_field(name_of<kMember>());
    check_choice(row.flag(), value, row.choices, row.flag() + " " + row.choices.front());
    spec.*kMember = std::string(value);
  };
  return field;
}

// An enumeration with a list of words. choices may have been given already, to allow fewer.
template <auto kMember>
Field word(Field field) {
  using Enum = std::remove_reference_t<decltype(std::declval<RunSpec>().*kMember)>;
  name_of<kMember>() = field.name;
  field.value = FieldValue::kWord;
  if (field.choices.empty()) field.choices = choices_of<Enum>();
  field.get = [](const RunSpec& spec) { return word_of(spec.*kMember); };
  field.set = [](RunSpec& spec, std::string_view value) {
    const Field& row = *find_field(name_of<kMember>());
    // A word that is known and not among the row's choices is refused by validate(), which says
    // why.
    if (!is_one_of(value, choices_of<Enum>())) {
      check_name(row.flag(), value, row.choices, row.flag() + " " + row.choices.front());
    }
    spec.*kMember = parse_word<Enum>(row.flag(), value);
  };
  return field;
}

Field device(Field field) {
  field.value = FieldValue::kWord;
  field.get = [](const RunSpec& spec) { return to_string(spec.device); };
  field.set = [](RunSpec& spec, std::string_view value) { spec.device = parse_device(value); };
  return field;
}

using R = RunSpec;

// What is computed.
std::vector<Field> model_fields() {
  const auto kGroup = FieldGroup::kModel;
  return {
      text<&R::model_size>({.name = "model_size",
                            .help = "named shape, or custom with every dimension given",
                            .choices = model_size_names(),
                            .group = kGroup,
                            .value = FieldValue::kWord,
                            .in_name = InName::kAlways,
                            .required = true,
                            .stated = true}),
      integer<&R::d_model, 0, kHuge>(
          {"d_model", "residual stream width (0 = the named size's)", {}, kGroup}),
      integer<&R::d_ff, 0, kHuge>(
          {"d_ff", "SwiGLU inner width (0 = the named size's)", {}, kGroup}),
      integer<&R::layers, 0, 100000>(
          {"layers", "transformer blocks (0 = the named size's)", {}, kGroup}),
      integer<&R::heads, 0, kHuge>({"heads", "query heads (0 = the named size's)", {}, kGroup}),
      integer<&R::kv_heads, 0, kHuge>(
          {"kv_heads", "key/value heads (0 = the named size's)", {}, kGroup}),
      integer<&R::vocab_size, 0, kHuge>(
          {"vocab_size", "vocabulary (0 = the named size's)", {}, kGroup}),
      integer<&R::context_length, 1, 1 << 24>({.name = "context_length",
                                               .help = "tokens per sequence",
                                               .group = kGroup,
                                               .in_name = InName::kAlways,
                                               .stated = true}),
      integer<&R::batch_size, 1, 1 << 24>(
          {.name = "batch_size", .help = "sequences per step", .group = kGroup, .stated = true}),
  };
}

// How one step runs, on which data.
std::vector<Field> step_fields() {
  return {
      word<&R::profile_type>({.name = "profile_type",
                              .help = "what one step does",
                              .in_name = InName::kAlways,
                              .stated = true}),
      word<&R::precision>({.name = "precision",
                           .help = "arithmetic; bf16 and fp16 are autocast over FP32 weights",
                           .in_name = InName::kAlways,
                           .stated = true}),
      word<&R::kernels>({"kernels", "implementation of the arithmetic"}),
      word<&R::attention>({"attention", "written-out softmax, or scaled_dot_product_attention"}),
      word<&R::optimizer>({"optimizer", "optimizer of training steps", runnable_optimizers()}),
      word<&R::optimizer_impl>({"optimizer_impl", "how the optimizer step is computed"}),
      number<&R::learning_rate>(
          {.name = "learning_rate", .help = "constant learning rate", .sizes = false}),
      number<&R::weight_decay>(
          {.name = "weight_decay", .help = "decoupled weight decay", .sizes = false}),
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
      text<&R::tokens>({.name = "tokens",
                        .help = "file of token ids; random tokens when empty",
                        .value = FieldValue::kInputFile,
                        .timed = false,
                        .sizes = false,
                        .separator = '\0'}),
      choice<&R::token_type>({.name = "token_type",
                              .help = "width of the ids in --tokens",
                              .choices = {"uint16", "uint32"},
                              .timed = false,
                              .sizes = false}),
      text<&R::load_weights>({.name = "load_weights",
                              .help = "safetensors file with the initial weights",
                              .value = FieldValue::kInputFile,
                              .timed = false,
                              .sizes = false,
                              .separator = '\0'}),
  };
}

// What is measured and written.
std::vector<Field> measurement_fields() {
  const auto kGroup = FieldGroup::kMeasurement;
  return {
      integer<&R::warmup_steps, 0, 100000>({.name = "warmup_steps",
                                            .help = "steps before anything is measured",
                                            .group = kGroup,
                                            .in_name = InName::kNever,
                                            .sizes = false}),
      integer<&R::measure_steps, 0, 100000>({.name = "measure_steps",
                                             .help = "timed steps",
                                             .group = kGroup,
                                             .in_name = InName::kNever,
                                             .sizes = false}),
      integer<&R::record_steps, 0, 1000>({.name = "record_steps",
                                          .help = "recorded steps, after the timed ones",
                                          .group = kGroup,
                                          .in_name = InName::kNever,
                                          .timed = false,
                                          .sizes = false}),
      word<&R::stacks>({.name = "stacks",
                        .help = "stacks of the recorded allocations",
                        .group = kGroup,
                        .changes_result = false,
                        .timed = false,
                        .sizes = false}),
      integer<&R::max_entries, 1, 100000000>({.name = "max_entries",
                                              .help = "allocator events kept",
                                              .group = kGroup,
                                              .changes_result = false,
                                              .timed = false,
                                              .sizes = false}),
      text<&R::snapshot>({.name = "snapshot",
                          .help = "memory_viz snapshot to write",
                          .group = kGroup,
                          .value = FieldValue::kOutputFile,
                          .changes_result = false,
                          .timed = false,
                          .sizes = false,
                          .separator = '\0'}),
      text<&R::save_weights>({.name = "save_weights",
                              .help = "safetensors file to write at the end",
                              .group = kGroup,
                              .value = FieldValue::kOutputFile,
                              .changes_result = false,
                              .timed = false,
                              .sizes = false,
                              .separator = '\0'}),
  };
}

std::vector<Field> make_fields() {
  std::vector<Field> all = model_fields();
  for (auto more : {step_fields(), measurement_fields()}) {
    all.insert(all.end(), more.begin(), more.end());
  }
  return all;
}

}  // namespace

std::string Field::flag() const { return flag_of(name); }

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
    case FieldGroup::kMeasurement:
      break;
  }
  return "What is measured and written";
}

}  // namespace headroom
