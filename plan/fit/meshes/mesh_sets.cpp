#include "plan/fit/meshes/mesh_sets.h"

#include <algorithm>
#include <utility>

namespace headroom {
namespace {

// The settings that determine the size of a run's states.
const std::vector<std::string>& fields_of_states() {
  static const std::vector<std::string> kFields = {"optimizer", "weights", "optimizer_offload",
                                                   "param_offload"};
  return kFields;
}

// False for techniques that validate() would refuse with any other settings: no set uses them.
bool runs_on(const RunTechnique& technique, const RunSpec& spec) {
  switch (technique.technique) {
    case Technique::kParameterOffload:
      return spec.zero == 0 && spec.schedule.kind != ScheduleKind::kInterleaved;
    case Technique::kReleaseGradients:
      return spec.mesh.size(MeshAxis::kData) == 1;
    default:
      return may_use(TechniqueScope::kInMeshes, row_of(technique.technique));
  }
}

class MeshSets {
 public:
  MeshSets(const FitQuestion& question, const FitOracle& oracle)
      : question_(question), oracle_(oracle) {}

  std::vector<TechniqueSet> all() {
    std::vector<TechniqueSet> roots = all_roots();
    std::vector<int64_t> states;
    states.reserve(roots.size());
    for (const TechniqueSet& root : roots) states.push_back(oracle_.states(root.spec));
    if (roots.empty()) return {};
    const int64_t room =
        std::max(oracle_.capacity, *std::min_element(states.begin(), states.end()));
    for (size_t i = 0; i < roots.size(); ++i) {
      if (states[i] > room) {
        add_alone(roots[i]);
      } else {
        add_with_others(roots[i]);
      }
    }
    std::stable_sort(sets_.begin(), sets_.end(), [&](const TechniqueSet& a, const TechniqueSet& b) {
      return question_.order.is_cheaper(a.cost, b.cost);
    });
    return std::move(sets_);
  }

 private:
  // Techniques of a run on the mesh: the levels of micro-batches follow its batch.
  std::vector<RunTechnique> techniques_on(const RunSpec& spec) const {
    std::vector<RunTechnique> all = technique_list(spec, question_.disk);
    std::erase_if(all, [&](const RunTechnique& technique) {
      const bool is_asked = std::any_of(
          question_.techniques.begin(), question_.techniques.end(),
          [&](const RunTechnique& asked) { return asked.technique == technique.technique; });
      return !is_asked || !runs_on(technique, spec);
    });
    return all;
  }

  std::vector<TechniqueSet> all_roots() const {
    std::vector<TechniqueSet> roots;
    for (const MeshRun& run : mesh_runs(question_.base, question_.meshes)) {
      std::vector<RunTechnique> of_states = techniques_on(run.spec);
      std::erase_if(of_states, [](const auto& one) { return !sets_any(one, fields_of_states()); });
      for (TechniqueSet& set : technique_sets(run.spec, of_states, question_.order)) {
        add_up(set.cost, run.cost);
        set.mesh = run.words;
        roots.push_back(std::move(set));
      }
    }
    return roots;
  }

  // Adds the root with no other technique than the micro-batches that a pipeline requires.
  void add_alone(const TechniqueSet& root) {
    std::vector<RunTechnique> parts = techniques_on(root.spec);
    std::erase_if(parts, [](const auto& one) { return one.technique != Technique::kMicroBatches; });
    for (const TechniqueSet& set : technique_sets(root.spec, parts, question_.order)) {
      if (add(root, set)) return;
    }
  }

  void add_with_others(const TechniqueSet& root) {
    std::vector<RunTechnique> others = techniques_on(root.spec);
    const std::vector<std::string> set_already = set_by(root, others);
    std::erase_if(others, [&](const RunTechnique& one) {
      return sets_any(one, fields_of_states()) || sets_any(one, set_already);
    });
    for (const TechniqueSet& set : technique_sets(root.spec, others, question_.order)) {
      add(root, set);
    }
  }

  // Fields set by the root's own levels.
  static std::vector<std::string> set_by(const TechniqueSet& root,
                                         const std::vector<RunTechnique>& techniques) {
    std::vector<std::string> fields;
    for (const RunTechnique& one : techniques) {
      const auto level = static_cast<size_t>(root.cost.at(static_cast<size_t>(one.technique)));
      if (level == 0) continue;
      for (const Setting& setting : one.levels[level - 1].settings) fields.push_back(setting.field);
    }
    return fields;
  }

  std::vector<std::string> names_of(const Cost& cost,
                                    const std::vector<RunTechnique>& techniques) const {
    std::vector<std::string> names;
    for (const RunTechnique& one : dearest_first(techniques, question_.order)) {
      const auto level = static_cast<size_t>(cost.at(static_cast<size_t>(one.technique)));
      if (level > 0) names.push_back(one.levels[level - 1].name);
    }
    return names;
  }

  static void add_up(Cost& cost, const Cost& more) {
    for (size_t i = 0; i < kTechniques; ++i) cost.at(i) += more.at(i);
  }

  // Adds the root and the set as one set. False if a stage would have no micro-batch.
  bool add(const TechniqueSet& root, TechniqueSet set) {
    if (set.spec.micro_batches < set.spec.mesh.size(MeshAxis::kPipeline)) return false;
    add_up(set.cost, root.cost);
    set.mesh = root.mesh;
    set.names = names_of(set.cost, techniques_on(root.spec));
    sets_.push_back(std::move(set));
    return true;
  }

  const FitQuestion& question_;
  const FitOracle& oracle_;
  std::vector<TechniqueSet> sets_;
};

}  // namespace

std::vector<TechniqueSet> sets_of(const FitQuestion& question, const FitOracle& oracle) {
  if (question.meshes.gpus > 1) return MeshSets(question, oracle).all();
  return technique_sets(question.base, question.techniques, question.order);
}

}  // namespace headroom
