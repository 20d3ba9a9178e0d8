// The one list of settings: fields(). The order is the order of --help and of the table columns.
#include <algorithm>
#include <array>
#include <charconv>
#include <limits>
#include <utility>

#include "text/quantity.h"
#include "text/words.h"
#include "train/spec.h"

namespace headroom {
namespace {

constexpr int64_t kHuge = int64_t{1} << 40;

template <typename Enum>
using Words = std::vector<std::pair<Enum, std::string>>;

const Words<Mode>& words(Mode) {
  static const Words<Mode> kWords = {{Mode::kForward, "forward"},
                                     {Mode::kForwardGrad, "forward-grad"},
                                     {Mode::kForwardBackward, "forward-backward"},
                                     {Mode::kTraining, "training"}};
  return kWords;
}
const Words<Precision>& words(Precision) {
  static const Words<Precision> kWords = {{Precision::kFp32, "fp32"},
                                          {Precision::kTf32, "tf32"},
                                          {Precision::kBf16, "bf16"},
                                          {Precision::kFp16, "fp16"}};
  return kWords;
}
const Words<Kernels>& words(Kernels) {
  static const Words<Kernels> kWords = {{Kernels::kEager, "eager"}};
  return kWords;
}
const Words<Attention>& words(Attention) {
  static const Words<Attention> kWords = {{Attention::kEager, "eager"},
                                          {Attention::kFlash, "flash"}};
  return kWords;
}
const Words<Optimizer>& words(Optimizer) {
  static const Words<Optimizer> kWords = {{Optimizer::kAdamw, "adamw"}};
  return kWords;
}
const Words<OptimizerImpl>& words(OptimizerImpl) {
  static const Words<OptimizerImpl> kWords = {{OptimizerImpl::kReference, "reference"},
                                              {OptimizerImpl::kForeach, "foreach"},
                                              {OptimizerImpl::kFused, "fused"}};
  return kWords;
}
const Words<Stacks>& words(Stacks) {
  static const Words<Stacks> kWords = {{Stacks::kNone, "none"}, {Stacks::kCpp, "cpp"}};
  return kWords;
}

template <typename Enum>
std::string word_of(Enum value) {
  for (const auto& [known, word] : words(value)) {
    if (known == value) return word;
  }
  return "?";
}

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

// The rows below name a member and a few facts; these templates supply get and set for its type.
template <auto kMember, int64_t kMinimum, int64_t kMaximum>
Field integer(const char* name, const char* help, bool changes_result = true) {
  static const char* field_name = name;
  return {name,
          help,
          {},
          changes_result,
          [](const RunSpec& spec) { return std::to_string(spec.*kMember); },
          [](RunSpec& spec, std::string_view text) {
            spec.*kMember = parse_integer(flag_of(field_name), text, kMinimum, kMaximum);
          },
          true};
}

template <auto kMember>
Field number(const char* name, const char* help) {
  static const char* field_name = name;
  return {name,
          help,
          {},
          true,
          [](const RunSpec& spec) { return shortest(spec.*kMember); },
          [](RunSpec& spec, std::string_view text) {
            spec.*kMember = parse_number(flag_of(field_name), text, 0.0, 10.0);
          },
          true};
}

template <auto kMember>
Field text(const char* name, const char* help, bool changes_result = true,
           std::vector<std::string> choices = {}) {
  static Field field;
  field = {name,
           help,
           std::move(choices),
           changes_result,
           [](const RunSpec& spec) { return spec.*kMember; },
           [](RunSpec& spec, std::string_view value) {
             if (!field.choices.empty()) {
               check_choice(field.flag(), value, field.choices,
                            field.flag() + " " + field.choices.front());
             }
             spec.*kMember = std::string(value);
           },
           false};
  return field;
}

template <typename Enum>
std::vector<std::string> choices_of() {
  std::vector<std::string> choices;
  for (const auto& entry : words(Enum{})) choices.push_back(entry.second);
  return choices;
}

template <auto kMember>
Field choice(const char* name, const char* help, bool changes_result = true) {
  using Enum = std::remove_reference_t<decltype(std::declval<RunSpec>().*kMember)>;
  static const char* field_name = name;
  return {name,
          help,
          choices_of<Enum>(),
          changes_result,
          [](const RunSpec& spec) { return word_of(spec.*kMember); },
          [](RunSpec& spec, std::string_view value) {
            const std::vector<std::string> choices = choices_of<Enum>();
            const std::string flag = flag_of(field_name);
            check_name(flag, value, choices, flag + " " + choices.front());
            for (const auto& [candidate, word] : words(Enum{})) {
              if (word == value) spec.*kMember = candidate;
            }
          },
          false};
}

using R = RunSpec;

std::vector<Field> make_fields() {
  return {
      text<&R::model_size>("model_size", "named shape, or custom with every dimension given"),
      integer<&R::d_model, 0, kHuge>("d_model", "residual stream width (0 = the named size's)"),
      integer<&R::d_ff, 0, kHuge>("d_ff", "SwiGLU inner width (0 = the named size's)"),
      integer<&R::layers, 0, 100000>("layers", "transformer blocks (0 = the named size's)"),
      integer<&R::heads, 0, kHuge>("heads", "query heads (0 = the named size's)"),
      integer<&R::kv_heads, 0, kHuge>("kv_heads", "key/value heads (0 = the named size's)"),
      integer<&R::vocab_size, 0, kHuge>("vocab_size", "vocabulary (0 = the named size's)"),
      integer<&R::context_length, 1, 1 << 24>("context_length", "tokens per sequence"),
      integer<&R::batch_size, 1, 1 << 24>("batch_size", "sequences per step"),
      choice<&R::mode>("profile_type", "what one step does"),
      choice<&R::precision>("precision",
                            "arithmetic; bf16 and fp16 are autocast over FP32 weights"),
      choice<&R::kernels>("kernels", "implementation of the arithmetic"),
      choice<&R::attention>("attention", "written-out softmax, or scaled_dot_product_attention"),
      choice<&R::optimizer>("optimizer", "optimizer of training steps"),
      choice<&R::optimizer_impl>("optimizer_impl", "how the optimizer step is computed"),
      number<&R::learning_rate>("learning_rate", "constant learning rate"),
      number<&R::weight_decay>("weight_decay", "decoupled weight decay"),
      text<&R::device>("device", "auto, cpu, cuda, cuda:N or virtual:CARD[,bytes=SIZE]"),
      integer<&R::threads, 0, 4096>("threads", "CPU threads per operation (0 = libtorch's choice)"),
      text<&R::alloc_conf>("alloc_conf", "PYTORCH_CUDA_ALLOC_CONF of the run"),
      integer<&R::seed, 0, kHuge>("seed", "seed of weights and random tokens"),
      text<&R::tokens>("tokens", "file of token ids; random tokens when empty"),
      text<&R::token_type>("token_type", "width of the ids in --tokens", true,
                           {"uint16", "uint32"}),
      text<&R::load_weights>("load_weights", "safetensors file with the initial weights"),
      integer<&R::warmup_steps, 0, 100000>("warmup_steps", "steps before anything is measured"),
      integer<&R::measure_steps, 0, 100000>("measure_steps", "timed steps"),
      integer<&R::record_steps, 0, 1000>("record_steps", "recorded steps, after the timed ones"),
      choice<&R::stacks>("stacks", "stacks of the recorded allocations", false),
      integer<&R::max_entries, 1, 100000000>("max_entries", "allocator events kept", false),
      text<&R::snapshot>("snapshot", "memory_viz snapshot to write", false),
      text<&R::save_weights>("save_weights", "safetensors file to write at the end", false),
  };
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

std::string to_string(Mode mode) { return word_of(mode); }
std::string to_string(Precision precision) { return word_of(precision); }
std::string to_string(Attention attention) { return word_of(attention); }
std::string to_string(OptimizerImpl impl) { return word_of(impl); }

}  // namespace headroom
