#include "profiling/theory/report.h"

#include <algorithm>

#include "model/parameter_table.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/times/traffic.h"
#include "profiling/theory/activations/kv_cache.h"
#include "profiling/theory/activations/residual_stream.h"
#include "profiling/theory/host/disk_states.h"
#include "profiling/theory/host/host_parameters.h"
#include "profiling/theory/host/host_update.h"
#include "profiling/theory/host/offloaded.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/peak_table.h"
#include "profiling/theory/totals.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

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
    if (dimension.letter == 'K') continue;  // told beside the heads, given or not
    add(std::string(1, dimension.letter) + " " + dimension.label, grouped(shape.*dimension.size));
    if (dimension.letter == 'G') add("K head dimension", grouped(shape.head_dim()));
  }
  const std::vector<std::string> layers = layer_switches_of(shape);
  if (!layers.empty()) add("layers besides", join(layers));
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
