#include "train/optim/table.h"

#include <algorithm>

#include "train/settings/vocabulary/activations.h"

namespace headroom {
namespace {

constexpr const char* kFp32 = "FP32 in every precision";
constexpr const char* kMiniSource = "train/optim/adam_mini.cpp AdamMini::update";
constexpr const char* kMuonSource = "train/optim/muon.cpp Muon::make_state";
constexpr const char* k8BitSource = "train/optim/adam8bit.cpp Adam8bit::make_state";
constexpr const char* kChunkSource = "train/optim/adam8bit.cpp update_chunk";
constexpr int64_t kFp32Bytes = 4;
constexpr int64_t kMapsBytes = 4 * 256 * kFp32Bytes;

using Impl = OptimizerImpl;

OptimizerInfo adamw() {
  return {
      .kind = OptimizerKind::kAdamw,
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
                       .condition = "all tensors at once"}},
      .is_rehearsed = true};
}

OptimizerInfo adam8bit() {
  return {
      .kind = OptimizerKind::kAdam8bit,
      .word = "adam8bit",
      .meaning = "AdamW, two moments of 8 bits",
      .implementations = {Impl::kReference},
      .state = {{"m", StateForm::k8Bit, {}, k8BitSource, "a byte each, in blocks of 256"},
                {"v", StateForm::k8Bit, {}, k8BitSource, "a byte each, in blocks of 256"},
                {"m_scale", StateForm::k8BitScale, {}, k8BitSource, "largest magnitude of a block"},
                {"v_scale", StateForm::k8BitScale, {}, k8BitSource, "largest magnitude of a block"},
                {"maps", StateForm::kMaps, {}, "train/optim/dynamic_map.cpp", "once"}},
      .temporaries = {{.name = "decoded",
                       .storages = 3,
                       .is_decoded = true,
                       .chunk = kAdam8bitChunk,
                       .at_least = k8BitSmallest,
                       .source = kChunkSource,
                       .condition = "m, v and the codes as indices, of a chunk at a time",
                       .held_by = HeldBy::kEager},
                      {.name = "lost",
                       .is_mask = true,
                       .chunk = kAdam8bitChunk,
                       .at_least = k8BitSmallest,
                       .source = kChunkSource,
                       .condition = "marks of the gradients of the chunk that are not finite",
                       .held_by = HeldBy::kEager},
                      {.name = "decoded",
                       .storages = 2,
                       .is_decoded = true,
                       .chunk = kCompiled8bitChunk,
                       .at_least = k8BitSmallest,
                       .source = "train/optim/adam8bit.cpp update_compiled",
                       .condition = "m and v of a chunk at a time",
                       .held_by = HeldBy::kCompiledOnCpu},
                      {.name = "update",
                       .is_decoded = true,
                       .below = k8BitSmallest,
                       .source = "train/optim/adam8bit.cpp move",
                       .condition = "all tensors are small"}},
      .is_rehearsed = true};
}

OptimizerInfo sgd() {
  return {.kind = OptimizerKind::kSgd,
          .word = "sgd",
          .meaning = "SGD with a momentum of 0.9",
          .implementations = {Impl::kReference, Impl::kForeach, Impl::kFused},
          .state = {{"momentum", StateForm::kMoment, {}, "train/optim/sgd.cpp Sgd::update", kFp32}},
          .is_rehearsed = true};
}

OptimizerInfo lion() {
  return {.kind = OptimizerKind::kLion,
          .word = "lion",
          .meaning = "Lion, the sign of a moment",
          .implementations = {Impl::kReference, Impl::kForeach},
          .state = {{"m", StateForm::kMoment, {}, "train/optim/lion.cpp Lion::update", kFp32}},
          .temporaries = {{.impl = Impl::kReference,
                           .name = "direction",
                           .source = "train/optim/lion.cpp update_one: lerp",
                           .condition = "of the largest tensor",
                           .held_by = HeldBy::kEager},
                          {.impl = Impl::kForeach,
                           .name = "direction",
                           .of_all = true,
                           .source = "train/optim/lion.cpp update_foreach: _foreach_lerp",
                           .condition = "all tensors at once"}},
          .is_rehearsed = true};
}

OptimizerInfo adam_mini() {
  return {.kind = OptimizerKind::kAdamMini,
          .word = "adam-mini",
          .meaning = "AdamW, one second moment for a head or a row",
          .implementations = {Impl::kReference},
          .state = {{"m", StateForm::kMoment, {}, kMiniSource, kFp32},
                    {"v", StateForm::kOfBlock, {}, kMiniSource, "one for a head, a row, a norm"}},
          .temporaries = {{.name = "norm",
                           .of_blocks = true,
                           .storages = 2,
                           .source = "train/optim/adam_mini.cpp update_one",
                           .condition = "norm of the gradient and denominator of each block"}},
          .is_rehearsed = true};
}

OptimizerInfo muon() {
  return {.kind = OptimizerKind::kMuon,
          .word = "muon",
          .meaning = "Muon for the matrices of blocks, AdamW for the rest",
          .implementations = {Impl::kReference},
          .state = {{"momentum", StateForm::kHidden, {}, kMuonSource, "matrices of the blocks"},
                    {"m", StateForm::kOuter, {}, kMuonSource, "of AdamW: table, head and norms"},
                    {"v", StateForm::kOuter, {}, kMuonSource, "of AdamW: table, head and norms"}}};
}

}  // namespace

const std::vector<OptimizerInfo>& optimizers() {
  static const std::vector<OptimizerInfo> kOptimizers = {adamw(), adam8bit(),  sgd(),
                                                         lion(),  adam_mini(), muon()};
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

int64_t state_bytes(StateForm form, const ParameterSize& parameter, int64_t moment_bytes) {
  const int64_t elements = parameter.elements;
  const bool small = elements < k8BitSmallest;
  switch (form) {
    case StateForm::kMoment:
      return moment_bytes * elements;
    case StateForm::k8Bit:
      return small ? kFp32Bytes * elements : elements;
    case StateForm::k8BitScale:
      return small ? 0 : kFp32Bytes * scales_of(elements, k8BitBlock);
    case StateForm::kHidden:
      return moment_bytes * parameter.hidden;
    case StateForm::kOuter:
      return moment_bytes * (elements - parameter.hidden);
    case StateForm::kOfBlock:
      return moment_bytes * parameter.blocks;
    case StateForm::kScalar:
      return kFp32Bytes;
    case StateForm::kMaps:
      break;
  }
  return 0;
}

int64_t optimizer_state_bytes(OptimizerKind kind, const ParameterSize& parameter,
                              int64_t moment_bytes) {
  int64_t bytes = 0;
  for (const OptimizerState& state : info_of(kind).state) {
    if (!state.only) bytes += state_bytes(state.form, parameter, moment_bytes);
  }
  return bytes;
}

int64_t optimizer_shared_bytes(OptimizerKind kind) {
  int64_t bytes = 0;
  for (const OptimizerState& state : info_of(kind).state) {
    if (state.form == StateForm::kMaps) bytes += kMapsBytes;
  }
  return bytes;
}

}  // namespace headroom
