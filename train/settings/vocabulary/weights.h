// Types of a model's weights, gradients, master weights and optimizer moments: the words of a run's
// flags, and bytes per parameter for runs and plans. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/enum_words.h"
#include "train/optim/table.h"
#include "train/settings/vocabulary/precision.h"

namespace headroom {

// Type of parameters, their gradients and, without autocast, activations.
enum class WeightType { kFp32, kBf16 };
const EnumWords<WeightType>& words_of(WeightType);
std::string to_string(WeightType type);  // "bf16"

// The copy of low-precision weights that the optimizer updates instead.
enum class MasterCopy { kNone, kFp32 };
const EnumWords<MasterCopy>& words_of(MasterCopy);
std::string to_string(MasterCopy copy);  // "none"

// Rounding of updates to BF16 weights without a master copy.
enum class Rounding { kNearest, kStochastic };
const EnumWords<Rounding>& words_of(Rounding);
std::string to_string(Rounding rounding);  // "stochastic"

// One way to store a trained model's states. Sources: mixed precision with FP32 master weights is 2
// + 2 + 12 bytes (Rajbhandari et al. 2020, ZeRO, section 3.1); autocast keeps FP32 weights and adds
// 2 bytes for each weight it casts (train/techniques/precision.h, Note [The cast cache]).
struct StatePrecision {
  std::string name;                      // as typed: "bf16-mixed"
  Precision compute = Precision::kFp32;  // of matrix products; decides the activations' rows
  int64_t weight = 0;                    // bytes per parameter of a trained model
  int64_t gradient = 0;                  // bytes per parameter
  int64_t master = 0;    // FP32 copy that the optimizer updates; 0 = the weight itself
  int64_t moment = 0;    // bytes per parameter and moment
  int64_t cast = 0;      // low-precision copy of every weight in a matrix product
  int64_t low = 0;       // for frozen parameters, gathered ones, KV-cache entries
  std::string in_words;  // one line, without the number of bytes
};
const std::vector<StatePrecision>& state_precisions();
std::vector<std::string> state_precision_names();

// Throws UsageError with the nearest name and all names.
const StatePrecision& find_state_precision(std::string_view name);

// A run's storage of its states: with FP32 weights named by its precision ("fp32", "bf16" is
// autocast), with BF16 weights "bf16-mixed" (a master copy) or "bf16-pure".
const StatePrecision& state_precision(Precision precision, WeightType weights, MasterCopy master);

// "BF16 weights ... and moments: 16 bytes per parameter", all states under that optimizer;
// autocast's casts as "16 + 2".
std::string states_in_words(const StatePrecision& precision, OptimizerKind optimizer);

}  // namespace headroom
