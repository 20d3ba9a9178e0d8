#include "profiling/theory/totals.h"

#include <algorithm>
#include <functional>

#include "profiling/report/rows/cells.h"
#include "profiling/theory/activations/forward.h"
#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/host/host_update.h"
#include "profiling/theory/host/offloaded.h"
#include "text/words.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// True if all gradients are there when backward ends.
bool gradients_stay(const RunSpec& spec) {
  return !releases_gradients(spec) && !offloads_optimizer(spec);
}

// The groups that are live at an instant of a step.
struct Instant {
  const char* name;
  std::vector<const char*> groups;  // besides parameters, optimizer state, scaler, tables, inputs
  bool after_backward;              // only the scalar of the loss is left
  bool (*exists)(const RunSpec& spec);
};

const std::vector<Instant>& instants() {
  static const std::vector<Instant> kInstants = {
      {.name = "live when forward (and loss) end",
       .groups = {kCastCache, kBlock, kEmbedding, kCheckpointInputs, kFinalNorm, kHead, kLoss},
       .after_backward = false,
       .exists = [](const RunSpec&) { return true; }},
      {.name = "live when backward ends",
       .groups = {kGradients, kHead, kLoss},
       .after_backward = true,
       .exists = [](const RunSpec& spec) { return has_backward(spec.profile_type); }},
      {.name = "live in clipping",
       .groups = {kGradients, kHead, kLoss, kClipping},
       .after_backward = true,
       .exists =
           [](const RunSpec& spec) {
             return spec.profile_type == Mode::kTraining && spec.max_grad_norm > 0;
           }},
      {.name = "live in the optimizer step",
       .groups = {kGradients, kHead, kLoss, kOptimizerNextState, kOptimizerTemporaries},
       .after_backward = true,
       .exists =
           [](const RunSpec& spec) {
             return spec.profile_type == Mode::kTraining && gradients_stay(spec);
           }},
  };
  return kInstants;
}

int64_t live_bytes(const Instant& instant, const RunSpec& spec, const std::vector<Row>& rows) {
  int64_t bytes = 0;
  for (const Row& row : rows) {
    static const std::vector<std::string> kAlways = {
        kParameters, kOptimizerState, kLossScaler, kTables, kInputs, kMasterWeights, kBatchLoss};
    const bool now = std::any_of(instant.groups.begin(), instant.groups.end(),
                                 [&](const char* group) { return row.group == group; });
    if (!now && !is_one_of(row.group, kAlways)) continue;
    if (instant.after_backward && row.group == kLoss && row.tensor != "loss") continue;
    if (row.group == kGradients && !gradients_stay(spec)) continue;
    bytes += row.model_bytes();
  }
  return bytes - parameters_away(rows, spec, instant.after_backward);
}

// The table of totals: one column per mode, one row per quantity.
class Totals {
 public:
  explicit Totals(const RunSpec& spec) : modes_(modes_of(spec)), specs_(modes_.size(), spec) {
    table_ = {.title = "Totals per mode, " + state_precision(spec).name,
              .notes = {"Sums of the rows above (a block's times the layers), before the "
                        "allocator's rounding. Temporaries of forward and backward, workspaces "
                        "and the CUDA context come on top."},
              .columns = {{"quantity"}}};
    for (size_t i = 0; i < modes_.size(); ++i) {
      specs_[i].profile_type = modes_[i];
      rows_.push_back(theory_rows(specs_[i]));
      add_bytes_columns(table_, to_string(modes_[i]));
    }
  }

  void add_activations() {
    add("activations, all blocks", [&](size_t i) { return model_total(rows_[i], kBlock); });
    for (const char* group : {kEmbedding, kFinalNorm, kHead, kLoss}) add_group(group);
    if (model_total(training(), kOffloaded) == 0) return;
    add(kCheckpointInputs, [&](size_t i) { return model_total(rows_[i], kCheckpointInputs); });
    add("on the host: offloaded activations",
        [&](size_t i) { return model_total(rows_[i], kOffloaded); });
    add("on the host: slabs that hold them",
        [&](size_t i) { return slab_bytes(rows_[i], kOffloaded); });
  }

  void add_host() {
    if (total(training(), kHostGradients) > 0) {
      for (const char* group :
           {kHostMasters, kHostOptimizerState, kDiskStates, kHostGradients, kHostAddends}) {
        if (total(training(), group) > 0) add_group(group);
      }
      add("on the host: slabs that hold gradients",
          [&](size_t i) { return gradient_slab_bytes(rows_[i]); });
    }
    if (total(training(), kHostParameters) > 0) {
      add_group(kHostParameters);
      if (total(training(), kDiskParameters) > 0) add_group(kDiskParameters);
      add("on the host: slabs that hold parameters",
          [&](size_t i) { return slab_bytes(rows_[i], kHostParameters); });
    }
    if (follows_cpu_policy(specs_.front()) || host_pinned_bytes(training()) == 0) return;
    add("on the host: pinned memory, all of it",
        [&](size_t i) { return host_pinned_bytes(rows_[i]); });
    add("on the host: pageable memory",
        [&](size_t i) { return host_pageable_bytes(rows_[i], specs_[i]); });
  }

  void add_states() {
    for (const char* group : kStateGroups) add_group(group);
    add("temporaries of a forward without gradients",
        [&](size_t i) { return modes_[i] == Mode::kForward ? forward_temporaries(specs_[i]) : 0; });
  }

  void add_instants() {
    for (const Instant& instant : instants()) {
      if (std::none_of(specs_.begin(), specs_.end(), instant.exists)) continue;
      add(instant.name, [&](size_t i) {
        return instant.exists(specs_[i]) ? std::optional(live_bytes(instant, specs_[i], rows_[i]))
                                         : std::nullopt;
      });
    }
  }

  void add_peak(const Peak& peak, Mode mode) {
    add("peak, as the allocator counts",
        [&](size_t i) { return modes_[i] == mode ? std::optional(peak.allocated) : std::nullopt; });
    table_.notes.push_back("The peak of " + in_words(mode) + " is at " + peak.where + ".");
  }

  Table take() { return std::move(table_); }

 private:
  // Regions are compiled with their backward.
  static std::vector<Mode> modes_of(const RunSpec& spec) {
    std::vector<Mode> modes = {Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward,
                               Mode::kTraining};
    if (spec.kernels == Kernels::kCompiled) std::erase_if(modes, std::not_fn(has_backward));
    return modes;
  }

  void add(const std::string& name, const std::function<std::optional<int64_t>(size_t)>& bytes) {
    std::vector<std::string> cells = {name};
    for (size_t i = 0; i < modes_.size(); ++i) add_bytes_cells(cells, bytes(i));
    table_.rows.push_back(std::move(cells));
  }
  void add_group(const char* group) {
    add(group, [&](size_t i) { return total(rows_[i], group); });
  }
  const std::vector<Row>& training() const { return rows_.back(); }

  const std::vector<Mode> modes_;
  std::vector<RunSpec> specs_;
  std::vector<std::vector<Row>> rows_;
  Table table_;
};

}  // namespace

Table totals_table(const RunSpec& spec, const std::optional<Peak>& peak) {
  Totals totals(spec);
  totals.add_activations();
  totals.add_host();
  totals.add_states();
  totals.add_instants();
  if (peak) totals.add_peak(*peak, spec.profile_type);
  return totals.take();
}

}  // namespace headroom
