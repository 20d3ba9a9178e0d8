// Every optimizer: what it is called, what it keeps and which implementations it has. No torch
// here.
//
// A new one is a value of OptimizerKind, a row in table.cpp, a line in make.cpp, its name in
// train/CMakeLists.txt, and new files: train/optim/<name>.{h,cpp}, its test, its paper's formula
// (tests/baselines/optim/<name>.py) with what that computes. Flags, names of results, theory, plans
// and the contract test read the row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/enum_words.h"

namespace headroom {

enum class OptimizerKind { kAdamw, kAdam8bit, kSgd, kLion, kAdamMini, kMuon };
const EnumWords<OptimizerKind>& words_of(OptimizerKind);
std::string to_string(OptimizerKind kind);  // "adamw"

// How an update is computed. The result is the same within rounding; temporaries and time are not.
enum class OptimizerImpl {
  kReference,  // tensor by tensor, as the assignment writes it
  kForeach,    // one operation over all tensors at once
  kFused,      // one kernel
};
const EnumWords<OptimizerImpl>& words_of(OptimizerImpl);
std::string to_string(OptimizerImpl impl);  // "fused"

// 8-bit states, as bitsandbytes has kept them since 0.44.
inline constexpr int64_t k8BitBlock = 256;          // elements that share a scale
inline constexpr int64_t k8BitSmallest = 4096;      // a parameter of fewer elements keeps FP32
inline constexpr int64_t kAdam8bitChunk = 1 << 22;  // elements that are decoded at once

// How one tensor of state is kept.
enum class StateForm {
  kMoment,     // as many elements as the parameter: FP32, or what a plan's precision says
  k8Bit,       // a byte each; FP32 where the parameter is small
  k8BitScale,  // FP32, one for each block of 256; none where the parameter is small
  kOfBlock,    // a moment of each of Adam-mini's blocks (train/optim/partition.h)
  kHidden,     // a moment where it is a matrix of a block; none of other parameters
  kOuter,      // a moment where it is not
  kScalar,     // one FP32 number
  kMaps,       // not of a parameter but of all: the 8-bit maps, 4 x 256 FP32
};

// Kept for every parameter from the first step on. Optimizer::state() has its tensors row by row.
struct OptimizerState {
  const char* name = "";  // "m"
  StateForm form = StateForm::kMoment;
  std::optional<OptimizerImpl> only;  // of this implementation alone
  const char* source = "";            // where it is made
  const char* condition = "";
};

// Most bytes alive at once during an update, beyond gradients and state.
struct OptimizerTemporaries {
  OptimizerImpl impl = OptimizerImpl::kReference;
  const char* name = "";
  bool of_all = false;      // of every parameter at once; else of the largest
  bool of_blocks = false;   // of a moment of each block, of the parameter that has most
  bool is_state = false;    // the state's own next values: counted with it, not with temporaries
  int64_t storages = 1;     // so many, each of a parameter's size, FP32
  bool is_mask = false;     // a byte each instead
  bool is_decoded = false;  // FP32 whatever the parameter is
  int64_t chunk = 0;        // never more elements than these at once, in whole blocks; 0: all
  // Only where the largest parameter has so many elements.
  int64_t at_least = 0;
  int64_t below = INT64_MAX;
  const char* source = "";
  const char* condition = "";
};

struct OptimizerInfo {
  OptimizerKind kind = OptimizerKind::kAdamw;
  const char* word = "";
  const char* meaning = "";
  std::vector<OptimizerImpl> implementations;
  std::vector<OptimizerState> state;
  // An implementation without a row has none, but for Muon: profiling/theory/states/muon.h.
  std::vector<OptimizerTemporaries> temporaries;
};

const std::vector<OptimizerInfo>& optimizers();
const OptimizerInfo& info_of(OptimizerKind kind);

// What a row needs to know of a parameter, or of several that were made one.
struct ParameterSize {
  int64_t elements = 0;
  int64_t blocks = 1;  // Adam-mini's
  int64_t hidden = 0;  // of the elements, those in matrices of blocks, which Muon updates
};

// Bytes of one row for one parameter; none of what all share. moment_bytes: of one element of a
// moment.
int64_t state_bytes(StateForm form, const ParameterSize& parameter, int64_t moment_bytes);

// The same of all rows but implementations' own.
int64_t optimizer_state_bytes(OptimizerKind kind, const ParameterSize& parameter,
                              int64_t moment_bytes);

// What all parameters share.
int64_t optimizer_shared_bytes(OptimizerKind kind);

}  // namespace headroom
