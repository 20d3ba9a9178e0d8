#include "plan/fit/sets/technique_sets.h"

#include <map>
#include <utility>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// Selective checkpointing drops tensors that fused attention does not keep.
bool is_another_in_disguise(const RunSpec& spec) {
  return spec.checkpoint.kind == CheckpointKind::kSelective && spec.attention != Attention::kEager;
}

class Sets {
 public:
  // techniques: dearest first.
  explicit Sets(std::vector<RunTechnique> techniques) : techniques_(std::move(techniques)) {}

  // Adds all sets of the techniques from `next` on over `so_far`: in the order of costs, since
  // level 0 of the dearest comes first.
  void add(const TechniqueSet& so_far, size_t next) {
    if (next == techniques_.size()) return add_valid(so_far);
    add(so_far, next + 1);
    const RunTechnique& technique = techniques_[next];
    for (size_t level = 0; level < technique.levels.size(); ++level) {
      TechniqueSet with = so_far;
      with.cost.at(static_cast<size_t>(technique.technique)) = static_cast<int64_t>(level) + 1;
      with.names.push_back(technique.levels[level].name);
      const auto fields_before = fields_;
      if (apply(technique.levels[level], with.spec)) add(with, next + 1);
      fields_ = fields_before;
    }
  }

  std::vector<TechniqueSet> take() { return std::move(sets_); }

 private:
  // False if another technique has set one of its fields to another value.
  bool apply(const TechniqueLevel& level, RunSpec& spec) {
    if (!add_settings(level, fields_)) return false;
    for (const Setting& setting : level.settings) {
      find_field(setting.field)->set(spec, fields_.at(setting.field));
    }
    return true;
  }

  void add_valid(const TechniqueSet& one) {
    try {
      validate(one.spec);
    } catch (const UsageError&) {
      return;
    }
    if (!is_another_in_disguise(one.spec)) sets_.push_back(one);
  }

  std::vector<RunTechnique> techniques_;
  std::map<std::string, std::string> fields_;  // set fields and their values
  std::vector<TechniqueSet> sets_;
};

// True if `less` is `cost` with one technique at a lower level or off.
bool is_one_step(const Cost& less, const Cost& cost) {
  size_t changed = 0;
  for (size_t i = 0; i < kTechniques; ++i) {
    if (less.at(i) == cost.at(i)) continue;
    if (less.at(i) > cost.at(i)) return false;
    ++changed;
  }
  return changed == 1;
}

}  // namespace

std::string TechniqueSet::in_words() const {
  if (names.empty()) return mesh.empty() ? "nothing" : mesh;
  return mesh.empty() ? join(names) : mesh + ", " + join(names);
}

std::vector<TechniqueSet> technique_sets(const RunSpec& base,
                                         const std::vector<RunTechnique>& techniques,
                                         const CostOrder& order) {
  Sets sets(dearest_first(techniques, order));
  sets.add({.spec = base, .cost = {}, .names = {}}, 0);
  return sets.take();
}

std::vector<size_t> one_step_back(const std::vector<TechniqueSet>& sets, size_t place) {
  std::vector<size_t> back;
  for (size_t i = 0; i < place; ++i) {
    if (is_one_step(sets[i].cost, sets[place].cost)) back.push_back(i);
  }
  return back;
}

}  // namespace headroom
