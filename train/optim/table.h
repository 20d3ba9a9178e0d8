// Every optimizer: its name, its state and its implementations. No torch here.
//
// A new one needs a value of OptimizerKind, a row in table.cpp, a line in make.cpp, its name in
// train/CMakeLists.txt, and new files: train/optim/<name>.{h,cpp}, its test, its paper's formula
// (tests/baselines/optim/<name>.py) with its results. Flags, names of results, theory, plans and
// the contract test read the row.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "text/enum_words.h"

namespace headroom {

enum class OptimizerKind { kAdamw, kAdam8bit, kSgd, kLion, kAdamMini, kMuon };
const EnumWords<OptimizerKind>& words_of(OptimizerKind);
std::string to_string(OptimizerKind kind);  // "adamw"

// Implementation of an update. Results agree within rounding; temporaries and time differ.
enum class OptimizerImpl {
  kReference,  // tensor by tensor, as in the assignment
  kForeach,    // one operation over all tensors at once
  kFused,      // one kernel
};
const EnumWords<OptimizerImpl>& words_of(OptimizerImpl);
std::string to_string(OptimizerImpl impl);  // "fused"

// 8-bit states, as in bitsandbytes since 0.44.
inline constexpr int64_t k8BitBlock = 256;              // elements that share a scale
inline constexpr int64_t k8BitSmallest = 4096;          // a smaller parameter keeps FP32
inline constexpr int64_t kAdam8bitChunk = 1 << 22;      // elements decoded at once
inline constexpr int64_t kCompiled8bitChunk = 1 << 17;  // by a compiled update on a CPU

// Form of one tensor of state.
enum class StateForm {
  kMoment,     // as many elements as the parameter: FP32, or by a plan's precision
  k8Bit,       // a byte each; FP32 for a small parameter
  k8BitScale,  // FP32, one per block of 256; none for a small parameter
  kOfBlock,    // a moment for each of Adam-mini's blocks (train/optim/partition.h)
  kHidden,     // a moment for a matrix of a block; none for other parameters
  kOuter,      // a moment for all other parameters
  kScalar,     // one FP32 number
  kMaps,       // shared by all parameters: the 8-bit maps, 4 x 256 FP32
};

// Kept for every parameter from the first step on. Optimizer::state() lists its tensors by row.
struct OptimizerState {
  const char* name = "";  // "m"
  StateForm form = StateForm::kMoment;
  std::optional<OptimizerImpl> only;  // only in this implementation
  const char* source = "";            // where it is made
  const char* condition = "";
};

// Updates that hold a temporary: an update that is a compiled operation needs fewer.
enum class HeldBy { kAll, kEager, kCompiledOnCpu };

// Most bytes live at once during an update, beyond gradients and state.
struct OptimizerTemporaries {
  OptimizerImpl impl = OptimizerImpl::kReference;
  const char* name = "";
  bool of_all = false;      // for all parameters at once; else for the largest
  bool of_blocks = false;   // a moment per block, for the parameter with most blocks
  bool is_state = false;    // the state's next values: counted as state, not as temporaries
  int64_t storages = 1;     // number of storages of a parameter's size, FP32
  bool is_mask = false;     // one byte per element instead
  bool is_decoded = false;  // FP32 for every parameter type
  int64_t chunk = 0;        // most elements at once, in whole blocks; 0: all
  // Only if the largest parameter has this many elements.
  int64_t at_least = 0;
  int64_t below = INT64_MAX;
  const char* source = "";
  const char* condition = "";
  HeldBy held_by = HeldBy::kAll;
};

struct OptimizerInfo {
  OptimizerKind kind = OptimizerKind::kAdamw;
  const char* word = "";
  const char* meaning = "";
  std::vector<OptimizerImpl> implementations;
  std::vector<OptimizerState> state;
  // An implementation without a row has none, except Muon: profiling/theory/states/muon.h.
  std::vector<OptimizerTemporaries> temporaries;
  // True if profiling/theory/rehearsal follows it. The rehearsal is frozen: leave false for a new
  // optimizer.
  bool is_rehearsed = false;
};

const std::vector<OptimizerInfo>& optimizers();
const OptimizerInfo& info_of(OptimizerKind kind);

// A row's inputs about a parameter, or about several as one.
struct ParameterSize {
  int64_t elements = 0;
  int64_t blocks = 1;  // Adam-mini's
  int64_t hidden = 0;  // elements in matrices of blocks, which Muon updates
};

// Bytes of one row for one parameter; 0 for shared state. moment_bytes: per element of a moment.
int64_t state_bytes(StateForm form, const ParameterSize& parameter, int64_t moment_bytes);

// The sum over all rows except those of single implementations.
int64_t optimizer_state_bytes(OptimizerKind kind, const ParameterSize& parameter,
                              int64_t moment_bytes);

// Bytes of state that all parameters share.
int64_t optimizer_shared_bytes(OptimizerKind kind);

}  // namespace headroom
