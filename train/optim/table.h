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

enum class OptimizerKind { kAdamw, kAdamw8bit, kSgd, kLion };
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

// How one tensor of state is kept.
enum class StateForm {
  kMoment,  // as many elements as the parameter: FP32, or what a plan's precision says
  k8Bit,    // a byte each, and an FP32 scale per block of 256 (bitsandbytes' block since 0.44)
  kScalar,  // one FP32 number
};

// Kept for every parameter from the first step on.
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
  bool of_all = false;    // of every parameter at once; else of the largest
  bool is_state = false;  // the state's own next values: counted with it, not with temporaries
  int64_t storages = 1;   // so many, each of a parameter's size, FP32
  const char* source = "";
  const char* condition = "";
};

struct OptimizerInfo {
  OptimizerKind kind = OptimizerKind::kAdamw;
  const char* word = "";
  const char* meaning = "";
  std::vector<OptimizerImpl> implementations;  // none: plans compute with it, no step runs it
  std::vector<OptimizerState> state;
  std::vector<OptimizerTemporaries> temporaries;  // an implementation without a row has none
};

const std::vector<OptimizerInfo>& optimizers();
const OptimizerInfo& info_of(OptimizerKind kind);

// Words of those that a step can run.
std::vector<std::string> runnable_optimizers();

// Bytes of state of a parameter tensor of so many elements, all of its rows but implementations'
// own. moment_bytes: of one element of a moment.
int64_t optimizer_state_bytes(OptimizerKind kind, int64_t elements, int64_t moment_bytes);

}  // namespace headroom
