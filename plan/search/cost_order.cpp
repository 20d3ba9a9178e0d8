#include "plan/search/cost_order.h"

#include <algorithm>
#include <numeric>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr std::array<CostRow, kTechniques> kTable = {{
    {Technique::kParameterOffload, "parameter offload", "param-offload",
     "the blocks' weights come over the host link in each pass", TechniqueScope::kInRuns},
    {Technique::kOptimizerOffload, "optimizer offload", "optimizer-offload",
     "states of every step go over the host link, the host updates", TechniqueScope::kInBoth},
    {Technique::kPipeline, "pipeline", "pipeline", "bubbles of (pp - 1) / (micro-batches + pp - 1)",
     TechniqueScope::kInMeshes},
    {Technique::kSwapPhases, "swapped phases", "swap-phases",
     "states go over the host link, some times an iteration", TechniqueScope::kInPlans},
    {Technique::kActivationOffload, "activation offload", "activation-offload",
     "kept activations go over the host link and back, in every step", TechniqueScope::kInRuns},
    {Technique::kZero3, "ZeRO-3", "zero-3",
     "weights are gathered for each pass: 1.5 times the bytes between GPUs",
     TechniqueScope::kInMeshes},
    {Technique::kOtherOptimizer, "another optimizer", "other-optimizer",
     "another method, with a learning rate of its own", TechniqueScope::kInRuns},
    {Technique::kBf16Weights, "BF16 weights", "bf16-weights",
     "with a master copy other roundings; without one updates count on average only",
     TechniqueScope::kInRuns},
    {Technique::kFp8Products, "FP8 products", "fp8-products", "values of 3 or 2 bits of mantissa",
     TechniqueScope::kInRuns},
    {Technique::kActivations8Bit, "8-bit activations", "activations",
     "gradients within 1/254 of a block's largest; encoded and decoded", TechniqueScope::kInRuns},
    {Technique::kOptimizer8Bit, "8-bit optimizer states", "optimizer-8bit",
     "moments of 256 values; decoded and encoded in each step", TechniqueScope::kInRuns},
    {Technique::kCheckpoint, "checkpointing", "recompute",
     "blocks are computed twice: a third more arithmetic", TechniqueScope::kInBoth, "checkpoint"},
    {Technique::kReferenceOffload, "reference offload", "reference-offload",
     "one model's weights over the host link, once an iteration", TechniqueScope::kInPlans},
    {Technique::kTensorParallel, "tensor parallelism", "tensor-parallel",
     "four all-reduces a layer, within the node", TechniqueScope::kInMeshes},
    {Technique::kMicroBatches, "micro-batches", "micro-batches", "more and smaller matrix products",
     TechniqueScope::kInBoth},
    {Technique::kZero12, "ZeRO-1 and 2", "zero-1-2", "the same bytes between GPUs as without",
     TechniqueScope::kInMeshes},
    {Technique::kReleaseGradients, "released gradients", "release-gradients",
     "no clipping, no adding up; an update for each parameter", TechniqueScope::kInRuns},
    {Technique::kBf16Products, "BF16 products", "bf16-products",
     "values of 7 bits of mantissa, in less time; a cast of every weight", TechniqueScope::kInRuns},
    {Technique::kFusedAttention, "fused attention", "attention",
     "less time; the same within rounding", TechniqueScope::kInRuns},
    {Technique::kFusedOptimizer, "fused optimizer", "optimizer-impl",
     "less time; the same within rounding", TechniqueScope::kInRuns},
    {Technique::kAllocator, "allocator settings", "alloc-conf",
     "pages mapped and unmapped while steps differ", TechniqueScope::kInRuns},
}};

bool is_of_runs(const CostRow& row) { return row.searched != TechniqueScope::kInPlans; }

std::vector<std::string> words_in_runs() {
  std::vector<std::string> words;
  for (const CostRow& row : kTable) {
    if (is_of_runs(row)) words.emplace_back(row.word);
  }
  return words;
}

}  // namespace

const std::array<CostRow, kTechniques>& cost_table() { return kTable; }

bool may_use(TechniqueScope who, const CostRow& row) {
  switch (row.searched) {
    case TechniqueScope::kInBoth:
      return true;
    case TechniqueScope::kInRuns:
      return who != TechniqueScope::kInPlans;
    case TechniqueScope::kInMeshes:
      return who != TechniqueScope::kInRuns;
    case TechniqueScope::kInPlans:
      break;
  }
  return who == TechniqueScope::kInPlans;
}

const CostRow& row_of(Technique technique) { return kTable.at(static_cast<size_t>(technique)); }

void add_mesh(Cost& cost, int64_t tp, int64_t pp, int64_t zero) {
  cost.at(static_cast<size_t>(Technique::kTensorParallel)) = tp - 1;
  cost.at(static_cast<size_t>(Technique::kPipeline)) = pp - 1;
  cost.at(static_cast<size_t>(Technique::kZero3)) = zero == 3 ? 1 : 0;
  cost.at(static_cast<size_t>(Technique::kZero12)) = std::min<int64_t>(zero, 2);
}

bool needs_all_of(const Cost& cost, const Cost& other) {
  return std::equal(cost.begin(), cost.end(), other.begin(),
                    [](int64_t mine, int64_t theirs) { return mine >= theirs; });
}

std::vector<Technique> parse_techniques(std::string_view flag, const std::string& typed) {
  static const std::vector<std::string> kWords = words_in_runs();
  const std::string name(flag);
  const std::string example = name + " recompute,micro-batches";
  std::vector<Technique> techniques;
  for (const std::string& word : parse_list(flag, typed, example)) {
    const auto* const row = std::find_if(kTable.begin(), kTable.end(), [&](const CostRow& known) {
      return is_of_runs(known) && (word == known.word || word == known.key);
    });
    if (row == kTable.end()) check_name(name, word, kWords, example);
    if (std::count(techniques.begin(), techniques.end(), row->technique) > 0) {
      throw UsageError(flag, typed, "names " + word + " twice; allowed: each once", example);
    }
    techniques.push_back(row->technique);
  }
  return techniques;
}

CostOrder::CostOrder() {
  for (const CostRow& row : kTable) order_.push_back(row.technique);
}

CostOrder::CostOrder(std::string_view flag, const std::string& typed) : CostOrder() {
  const std::vector<Technique> named = parse_techniques(flag, typed);
  size_t next = 0;
  for (Technique& place : order_) {
    if (std::count(named.begin(), named.end(), place) > 0) place = named[next++];
  }
}

bool CostOrder::is_cheaper(const Cost& a, const Cost& b) const {
  for (const Technique technique : order_) {
    const auto i = static_cast<size_t>(technique);
    if (a.at(i) != b.at(i)) return a.at(i) < b.at(i);
  }
  return false;
}

std::string CostOrder::in_words(TechniqueScope who) const {
  std::vector<std::string> names;
  for (const Technique technique : order_) {
    if (may_use(who, row_of(technique))) names.emplace_back(row_of(technique).name);
  }
  return join(names);
}

}  // namespace headroom
