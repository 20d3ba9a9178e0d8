// The one order of what techniques cost: the plan's search and `headroom fit` compare by it. No
// torch here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Note [The order of costs]
// Rationale: techniques differ in what they cost, and steps of unknown time cannot be added up. An
//   order can: a set-up is cheaper than another when it does without the dearest thing that only
//   one of them needs.
// Approach: cost_table() has the techniques, dearest first, each with what it costs. First what
//   goes over the host link or leaves GPUs idle; then what changes the values of a training; then
//   what computes or sends more; last what is free where nothing stands against it. Costs are
//   compared from the dearest technique down (lexicographically); each level of one (tp 2, 4, 8)
//   counts. Sequence parallelism comes with tensor parallelism: it sends the same bytes. Other
//   people's costs are others: `headroom fit --cost-order`.
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

// Who may use it. kInMeshes: plans, and runs on many ranks.
enum class TechniqueScope { kInPlans, kInRuns, kInBoth, kInMeshes };

struct CostRow {
  Technique technique = Technique::kAllocator;
  const char* name = "";  // "micro-batches"
  const char* word = "";  // as it is typed: "micro-batches"
  const char* cost = "";  // what it costs
  TechniqueScope searched = TechniqueScope::kInBoth;
};

// Whether plans may (kInPlans), runs on one GPU (kInRuns), or runs on many (kInMeshes).
bool may_use(TechniqueScope who, const CostRow& row);

// Dearest first: the enumeration's own order.
const std::array<CostRow, kTechniques>& cost_table();
const CostRow& row_of(Technique technique);

// How far each is used, by its place in the enumeration; 0 = not.
using Cost = std::array<int64_t, kTechniques>;

// How far a mesh uses what it has: every width of tp and of pp is a level. ZeRO-2 counts in ZeRO-3,
// which is one step further.
void add_mesh(Cost& cost, int64_t tp, int64_t pp, int64_t zero);

// Whether `cost` uses everything that `other` uses, at least as far.
bool needs_all_of(const Cost& cost, const Cost& other);

class CostOrder {
 public:
  CostOrder();  // the table's

  // `typed`: technique words, dearest first. They change places among themselves; all others stay
  // where they are. Throws UsageError that names `flag`.
  CostOrder(std::string_view flag, const std::string& typed);

  bool is_cheaper(const Cost& a, const Cost& b) const;
  const std::vector<Technique>& dearest_first() const { return order_; }

  // Names of those that plans, runs, or runs on many ranks (kInMeshes) may use: "optimizer offload,
  // checkpointing, ...".
  std::string in_words(TechniqueScope who) const;

 private:
  std::vector<Technique> order_;
};

// The techniques of a list of words; only those that runs may use, many ranks' too. Throws
// UsageError that names `flag`.
std::vector<Technique> parse_techniques(std::string_view flag, const std::string& typed);

}  // namespace headroom
