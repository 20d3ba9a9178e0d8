// The order of techniques by cost, for the plan's search and `headroom fit`. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Note [The order of costs]
// Rationale: techniques have different kinds of cost, and steps of unknown time cannot be summed.
//   An order is enough: a set-up is cheaper than another if it avoids the dearest thing that only
//   one of them needs.
// Approach: cost_table() has the techniques, dearest first, each with its cost. First those that
//   use the host link or leave GPUs idle; then those that change the values of a training; then
//   those that compute or send more; last those that are free if no other setting prevents them.
//   Costs are compared from the dearest technique down (lexicographically); each level of one (tp
//   2, 4, 8) counts. Sequence parallelism comes with tensor parallelism: it sends the same bytes.
//   Users with other costs give `headroom fit --cost-order`.
// Limits: an order, not seconds.
enum class Technique {
  kParameterOffload,
  kOptimizerOffload,
  kPipeline,
  kSwapPhases,
  kActivationOffload,
  kZero3,
  kOtherOptimizer,
  kBf16Weights,
  kFp8Products,
  kActivations8Bit,
  kOptimizer8Bit,
  kCheckpoint,
  kReferenceOffload,
  kTensorParallel,
  kMicroBatches,
  kZero12,
  kReleaseGradients,
  kBf16Products,
  kFusedAttention,
  kFusedOptimizer,
  kAllocator,
};
inline constexpr size_t kTechniques = static_cast<size_t>(Technique::kAllocator) + 1;

// The searches that may use a technique. kInMeshes: plans, and runs on many ranks.
enum class TechniqueScope { kInPlans, kInRuns, kInBoth, kInMeshes };

struct CostRow {
  Technique technique = Technique::kAllocator;
  const char* name = "";  // "micro-batches"
  const char* word = "";  // on the command line: "micro-batches"
  const char* cost = "";  // its cost, in words
  TechniqueScope searched = TechniqueScope::kInBoth;
  const char* key = word;  // in documents; the command line takes it too
};

// True for plans (kInPlans), runs on one GPU (kInRuns) or runs on many (kInMeshes).
bool may_use(TechniqueScope who, const CostRow& row);

// Dearest first, in the order of the enumeration.
const std::array<CostRow, kTechniques>& cost_table();
const CostRow& row_of(Technique technique);

// The level of each technique, by its place in the enumeration; 0 = unused.
using Cost = std::array<int64_t, kTechniques>;

// Sets the levels of a mesh: every width of tp and of pp is a level. ZeRO-3 includes ZeRO-2's level
// and adds one.
void add_mesh(Cost& cost, int64_t tp, int64_t pp, int64_t zero);

// True if `cost` uses everything that `other` uses, at least at the same level.
bool needs_all_of(const Cost& cost, const Cost& other);

class CostOrder {
 public:
  CostOrder();  // the table's

  // `typed`: technique words, dearest first. They are permuted among their own places; all others
  // stay. Throws UsageError that names `flag`.
  CostOrder(std::string_view flag, const std::string& typed);

  bool is_cheaper(const Cost& a, const Cost& b) const;
  const std::vector<Technique>& dearest_first() const { return order_; }

  // Names of the techniques for plans, runs, or runs on many ranks (kInMeshes): "optimizer offload,
  // checkpointing, ...".
  std::string in_words(TechniqueScope who) const;

 private:
  std::vector<Technique> order_;
};

// The techniques of a list of words, limited to those of runs, on many ranks too. Throws UsageError
// that names `flag`.
std::vector<Technique> parse_techniques(std::string_view flag, const std::string& typed);

}  // namespace headroom
