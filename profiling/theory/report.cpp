#include "profiling/theory/report.h"

#include <algorithm>
#include <array>
#include <functional>

#include "model/parameter_table.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/times/traffic.h"
#include "profiling/theory/activations/forward.h"
#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/activations/residual_stream.h"
#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/host/host_update.h"
#include "profiling/theory/host/offloaded.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/peak_table.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// The groups outside the blocks and the loss, in the order of the tables.
constexpr std::array kStateGroups = {kParameters,
                                     kMasterWeights,
                                     kGradients,
                                     kClipping,
                                     kOptimizerState,
                                     kOptimizerNextState,
                                     kOptimizerTemporaries,
                                     kCastCache,
                                     kPassingCast,
                                     kKvCacheRows,
                                     kLossScaler,
                                     kTables,
                                     kInputs,
                                     kBatchLoss};

std::string policy_in_words(const RunSpec& spec) {
  if (follows_cpu_policy(spec)) {
    return "autocast's CPU list; rows equal autograd's saved tensors on the CPU to the byte";
  }
  return "autocast's CUDA list; rows derived by reading it (unmeasured here)";
}

Table shape_table(const RunSpec& spec) {
  const ModelConfig shape = model_config(spec);
  Table table{.title = "Theory of " + row_name(spec), .columns = {{"quantity"}, {"value", true}}};
  const auto add = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  const bool in_parts = passes(spec) > 1;
  if (in_parts) add("N micro-batches", grouped(passes(spec)));
  add(in_parts ? "B sequences of a micro-batch" : "B batch", grouped(sequences_of_a_pass(spec)));
  add("S, T context", grouped(spec.context_length));
  for (const Dimension& dimension : dimensions_of(shape)) {
    add(std::string(1, dimension.letter) + " " + dimension.label, grouped(shape.*dimension.size));
    if (dimension.letter == 'G') add("K head dimension", grouped(shape.head_dim()));
  }
  add("parameters", grouped(parameter_count(shape)));
  table.notes = {"mode: " + in_words(spec.profile_type), "precision: " + precision_in_words(spec),
                 "attention: " + to_string(spec.attention), "policy: " + policy_in_words(spec),
                 kUnitsNote};
  return table;
}

Table residual_stream_table(const RunSpec& spec) {
  const ResidualStream stream = residual_stream(spec);
  Table table{.title = "One tensor of the residual stream",
              .notes = {derivation(stream)},
              .columns = {{"tensor"}, {"elements", true}, {"MB", true}, {"MiB", true}}};
  table.columns.push_back({"bytes", true, true});
  table.rows.push_back({"output_BSD", std::to_string(stream.elements),
                        number_text(stream.megabytes(), 3), number_text(stream.mebibytes(), 3),
                        std::to_string(stream.bytes)});
  return table;
}

// "MulBackward0.self x4, PowBackward0.self".
std::string saves_in_words(const std::vector<std::string>& saved_by) {
  std::vector<std::pair<std::string, int>> counted;
  for (const auto& save : saved_by) {
    const auto it = std::find_if(counted.begin(), counted.end(),
                                 [&](const auto& known) { return known.first == save; });
    if (it == counted.end()) {
      counted.emplace_back(save, 1);
    } else {
      ++it->second;
    }
  }
  std::vector<std::string> texts;
  for (const auto& [save, times] : counted) {
    texts.push_back(save + (times > 1 ? " x" + std::to_string(times) : ""));
  }
  return texts.empty() ? "-" : join(texts);
}

std::string shape_in_words(const Row& row) { return "(" + row.symbols + ")"; }

Table empty_row_table(const std::string& title) {
  Table table{.title = title, .columns = {{"part"}, {"tensor"}, {"shape"}, {"dtype"}}};
  table.columns.push_back({"storages", true});
  add_bytes_columns(table, "size");
  for (const char* name : {"derivation", "saved by", "source", "why"}) {
    table.columns.push_back({name});
  }
  table.keys = 2;
  return table;
}

void add_row(Table& table, const Row& row) {
  std::vector<std::string> cells = {row.group, row.tensor, shape_in_words(row),
                                    to_string(row.dtype), std::to_string(row.storages)};
  add_bytes_cells(cells, row.bytes);
  cells.push_back(row.derivation);
  cells.push_back(saves_in_words(row.saved_by));
  cells.push_back(row.source);
  cells.push_back(row.condition.empty() ? "-" : row.condition);
  table.rows.push_back(std::move(cells));
}

// Rows of the groups, with one sum of all.
Table row_table(const std::string& title, const std::vector<Row>& rows,
                const std::vector<std::string>& groups) {
  Table table = empty_row_table(title);
  int64_t storages = 0;
  int64_t bytes = 0;
  for (const auto& group : groups) {
    for (const Row& row : rows) {
      if (row.group != group) continue;
      add_row(table, row);
      storages += row.storages;
      bytes += row.bytes;
    }
  }
  std::vector<std::string> sum = {"sum", "-", "-", "-", std::to_string(storages)};
  add_bytes_cells(sum, bytes);
  sum.resize(table.columns.size(), "-");
  table.rows.push_back(std::move(sum));
  return table;
}

// One table for each kind of block; `alike` are the blocks of that kind.
Table block_table(const std::vector<Row>& rows, const Blocks& alike, int64_t layers) {
  const std::vector<Row> block = rows_of_block(rows, alike.first());
  const bool all = alike.count() == layers;
  Table table = row_table(
      "Kept for backward by one block" + (all ? "" : ", as block " + std::to_string(alike.first())),
      block, {kBlock});
  const HookTally tally = hook_tally(block, kBlock);
  table.notes = {
      "Times " + std::to_string(alike.count()) +
          " blocks: " + format_bytes(alike.count() * total(block, kBlock)) + ".",
      "A storage is counted once, however often it is saved; 0 storages = counted elsewhere.",
      "A saved-tensor hook would see every save, weights too: " + std::to_string(tally.tensors) +
          " tensors, " + number_text(static_cast<double>(tally.bytes) / (1024 * 1024), 1) +
          " MiB."};
  return table;
}

// Each row is of all its blocks together.
Table host_table(std::vector<Row> rows) {
  for (Row& row : rows) {
    if (row.blocks.count() > 1) {
      row.derivation += ", of " + std::to_string(row.blocks.count()) + " blocks";
      row.storages *= row.blocks.count();
      row.bytes = row.model_bytes();
    }
  }
  return row_table("On the host while they wait for backward", rows, {kOffloaded});
}

// For a host that updates the parameters.
Table host_update_table(const std::vector<Row>& rows) {
  return row_table(
      "On the host from step to step", rows,
      {kHostParameters, kHostMasters, kHostOptimizerState, kHostGradients, kHostAddends});
}

Table disk_table(const RunSpec& spec, const std::vector<Row>& rows) {
  Table table = row_table("On the disk", rows, {kDiskParameters, kDiskStates});
  table.notes = disk_notes(disk_figures(spec));
  return table;
}

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

Table totals_table(const RunSpec& spec, const std::optional<Peak>& peak) {
  Totals totals(spec);
  totals.add_activations();
  totals.add_host();
  totals.add_states();
  totals.add_instants();
  if (peak) totals.add_peak(*peak, spec.profile_type);
  return totals.take();
}

}  // namespace

std::vector<Table> theory_report(const RunSpec& spec, const DiskRate& disk_rate) {
  const std::vector<Row> rows = theory_rows(spec);
  std::vector<Table> tables = {shape_table(spec), residual_stream_table(spec)};
  if (builds_graph(spec.profile_type)) {
    const int64_t layers = model_config(spec).layers;
    for (const Blocks& alike : blocks_alike(rows, layers)) {
      tables.push_back(block_table(rows, alike, layers));
    }
    tables.push_back(row_table("Kept outside the blocks: embedding, final norm, head, loss", rows,
                               {kEmbedding, kCheckpointInputs, kFinalNorm, kHead, kLoss}));
  }
  if (total(rows, kOffloaded) > 0) tables.push_back(host_table(rows));
  if (total(rows, kHostGradients) + total(rows, kHostParameters) > 0) {
    tables.push_back(host_update_table(rows));
  }
  const DiskFigures disk = disk_figures(spec);
  if (disk.any()) tables.push_back(disk_table(spec, rows));
  for (Table& table : traffic_tables(spec, host_traffic(rows, spec), disk, disk_rate)) {
    tables.push_back(std::move(table));
  }
  if (total(rows, kRecomputed) > 0) {
    tables.push_back(row_table("Computed again in backward, one group of blocks at a time", rows,
                               {kRecomputed, kRecomputedCast}));
  }
  tables.push_back(row_table("States, casts, tables and inputs", rows,
                             {kStateGroups.begin(), kStateGroups.end()}));
  if (spec.profile_type == Mode::kGenerate) return tables;  // the totals are of a step's modes
  std::optional<Peak> peak;
  if (has_predicted_peak(spec)) peak = predicted_peak(spec);
  if (peak) tables.push_back(peak_table(*peak));
  tables.push_back(totals_table(spec, peak));
  return tables;
}

}  // namespace headroom
