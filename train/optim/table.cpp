#include "train/optim/table.h"

#include <algorithm>

namespace headroom {
namespace {

constexpr int64_t kBlock = 256;  // elements that share a scale
constexpr int64_t kScaleBytes = 4;
constexpr const char* kFp32 = "FP32 in every precision";

int64_t bytes_of(StateForm form, int64_t elements, int64_t moment_bytes) {
  switch (form) {
    case StateForm::kMoment:
      return moment_bytes * elements;
    case StateForm::k8Bit:
      return elements + kScaleBytes * ((elements + kBlock - 1) / kBlock);
    case StateForm::kScalar:
      break;
  }
  return 4;
}

}  // namespace

const std::vector<OptimizerInfo>& optimizers() {
  using Impl = OptimizerImpl;
  static const std::vector<OptimizerInfo> kOptimizers = {
      {.kind = OptimizerKind::kAdamw,
       .word = "adamw",
       .meaning = "AdamW, two moments",
       .implementations = {Impl::kReference, Impl::kForeach, Impl::kFused},
       .state = {{"m", StateForm::kMoment, {}, "train/optim/adamw.cpp Adamw::update", kFp32},
                 {"v", StateForm::kMoment, {}, "train/optim/adamw.cpp Adamw::update", kFp32},
                 {"step", StateForm::kScalar, Impl::kFused, "train/optim/adamw.cpp Adamw::update",
                  "the fused kernel counts steps per tensor"}},
       .temporaries = {{.impl = Impl::kReference,
                        .name = "next",
                        .is_state = true,
                        .storages = 2,
                        .source = "train/optim/adamw.cpp update_reference",
                        .condition = "new m and v of the largest tensor while its old ones live"},
                       {.impl = Impl::kReference,
                        .name = "temporaries",
                        .storages = 3,
                        .source = "train/optim/adamw.cpp update_reference",
                        .condition = "update, sqrt(v) and sqrt(v) + eps of the largest tensor"},
                       {.impl = Impl::kForeach,
                        .name = "denominator",
                        .of_all = true,
                        .source = "train/optim/adamw.cpp update_foreach: _foreach_sqrt",
                        .condition = "all tensors at once"}}},
      {.kind = OptimizerKind::kAdamw8bit,
       .word = "adamw-8bit",
       .meaning = "AdamW, two moments of 8 bits",
       .state = {{.name = "m", .form = StateForm::k8Bit}, {.name = "v", .form = StateForm::k8Bit}}},
      {.kind = OptimizerKind::kSgd,
       .word = "sgd",
       .meaning = "SGD with a momentum of 0.9",
       .implementations = {Impl::kReference, Impl::kForeach, Impl::kFused},
       .state = {{"momentum", StateForm::kMoment, {}, "train/optim/sgd.cpp Sgd::update", kFp32}}},
      {.kind = OptimizerKind::kLion,
       .word = "lion",
       .meaning = "Lion, the sign of a moment",
       .implementations = {Impl::kReference, Impl::kForeach},
       .state = {{"m", StateForm::kMoment, {}, "train/optim/lion.cpp Lion::update", kFp32}},
       .temporaries = {{.impl = Impl::kReference,
                        .name = "direction",
                        .source = "train/optim/lion.cpp update_one: lerp",
                        .condition = "of the largest tensor"},
                       {.impl = Impl::kForeach,
                        .name = "direction",
                        .of_all = true,
                        .source = "train/optim/lion.cpp update_foreach: _foreach_lerp",
                        .condition = "all tensors at once"}}},
  };
  return kOptimizers;
}

const OptimizerInfo& info_of(OptimizerKind kind) {
  const auto& all = optimizers();
  return *std::find_if(all.begin(), all.end(),
                       [&](const OptimizerInfo& info) { return info.kind == kind; });
}

const EnumWords<OptimizerKind>& words_of(OptimizerKind) {
  static const EnumWords<OptimizerKind> kWords = [] {
    EnumWords<OptimizerKind> words;
    for (const auto& info : optimizers()) words.push_back({info.kind, info.word, info.meaning});
    return words;
  }();
  return kWords;
}

const EnumWords<OptimizerImpl>& words_of(OptimizerImpl) {
  static const EnumWords<OptimizerImpl> kWords = {
      {OptimizerImpl::kReference, "reference", "tensor by tensor, as the assignment writes it"},
      {OptimizerImpl::kForeach, "foreach", "one operation over all tensors at once"},
      {OptimizerImpl::kFused, "fused", "one kernel"}};
  return kWords;
}

std::string to_string(OptimizerKind kind) { return word_of(kind); }
std::string to_string(OptimizerImpl impl) { return word_of(impl); }

std::vector<std::string> runnable_optimizers() {
  std::vector<std::string> words;
  for (const OptimizerInfo& info : optimizers()) {
    if (!info.implementations.empty()) words.emplace_back(info.word);
  }
  return words;
}

int64_t optimizer_state_bytes(OptimizerKind kind, int64_t elements, int64_t moment_bytes) {
  int64_t bytes = 0;
  for (const OptimizerState& state : info_of(kind).state) {
    if (!state.only) bytes += bytes_of(state.form, elements, moment_bytes);
  }
  return bytes;
}

}  // namespace headroom
