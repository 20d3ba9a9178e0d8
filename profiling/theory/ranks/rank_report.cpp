#include "profiling/theory/ranks/rank_report.h"

#include <string>

#include "profiling/report/rows/cells.h"
#include "profiling/theory/peak_table.h"
#include "profiling/theory/rehearsal/parallel/moved_shapes.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/settings/gradient_rules.h"

namespace headroom {
namespace {

// The stage's layers: "0 to 15, 32 to 47".
std::string layers_in_words(const RunSpec& spec, int64_t rank) {
  const int64_t stages = spec.mesh.size(MeshAxis::kPipeline);
  const int64_t stage = spec.mesh.place(rank, MeshAxis::kPipeline);
  std::vector<std::string> spans;
  for (int64_t chunk = 0; chunk < spec.schedule.chunks; ++chunk) {
    const LayerSpan span = layers_of_piece(model_config(spec).layers, stages * spec.schedule.chunks,
                                           chunk * stages + stage);
    spans.push_back(std::to_string(span.first) + " to " + std::to_string(span.end - 1));
  }
  return join(spans);
}

std::string rest_in_words(const RunSpec& spec, int64_t rank) {
  const int64_t stage = spec.mesh.place(rank, MeshAxis::kPipeline);
  std::vector<std::string> parts;
  if (stage == 0) parts.emplace_back("token table");
  if (stage + 1 == spec.mesh.size(MeshAxis::kPipeline)) parts.emplace_back("final norm and head");
  return parts.empty() ? "neither token table nor head" : join(parts);
}

Table rank_table(const RunSpec& spec, int64_t rank) {
  const ModelConfig shape = model_config(spec);
  const int64_t tp = spec.mesh.size(MeshAxis::kTensor);
  const int64_t dp = spec.mesh.size(MeshAxis::kData);
  Table table{.title = "Theory of rank " + std::to_string(rank) + " of " + row_name(spec),
              .columns = {{"quantity"}, {"value", true}}};
  const auto add = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  for (const MeshAxis axis : kMeshAxes) {
    if (spec.mesh.size(axis) == 1) continue;
    add("stands at, " + to_string(axis), std::to_string(spec.mesh.place(rank, axis)) + " of " +
                                             std::to_string(spec.mesh.size(axis)));
  }
  add("layers", layers_in_words(spec, rank));
  add("beside them", rest_in_words(spec, rank));
  add("N micro-batches", grouped(passes(spec)));
  add("B sequences of one", grouped(sequences_of_a_pass(spec)));
  add("S context", grouped(spec.context_length));
  if (spec.sequence_parallel) add("s tokens between", grouped(spec.context_length / tp));
  add("D d_model", grouped(shape.d_model));
  add("H/tp heads", grouped(shape.heads / tp));
  add("F/tp d_ff", grouped(shape.d_ff / tp));
  if (dp > 1) add("R replicas", grouped(dp));
  table.notes = {"mode: " + in_words(spec.profile_type), "precision: " + precision_in_words(spec),
                 "The tensors that one rank without a mesh keeps: the same command without --mesh.",
                 kUnitsNote};
  return table;
}

Table moved_table(const std::vector<MovedRow>& rows) {
  Table table{
      .title = "Moved between ranks in a step",
      .notes = {"Each call counts the whole tensor that is reduced, gathered or scattered; a send "
                "counts for the sender. R replicas own P elements each of a unit: every "
                "parameter and every part begins at a multiple of 256."},
      .columns = {{"axis"}, {"collective"}, {"phase"}, {"tensor"}, {"times", true}},
      .keys = 4};
  add_bytes_columns(table, "each");
  add_bytes_columns(table, "moved");
  table.columns.push_back({"derivation of one"});
  for (const MovedRow& row : rows) {
    std::vector<std::string> cells = {to_string(row.axis), word_of(row.kind), row.phase, row.tensor,
                                      std::to_string(row.times)};
    add_bytes_cells(cells, row.bytes_each);
    add_bytes_cells(cells, row.bytes());
    cells.push_back(row.derivation);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table moved_sums_table(const std::vector<MovedRow>& rows) {
  Table table{
      .title = "The same by axis and kind", .columns = {{"axis"}, {"collective"}}, .keys = 2};
  add_bytes_columns(table, "moved");
  for (const auto& [key, bytes] : moved_sums(rows)) {
    const size_t space = key.find(' ');
    table.rows.push_back({key.substr(0, space), key.substr(space + 1)});
    add_bytes_cells(table.rows.back(), bytes);
  }
  return table;
}

}  // namespace

std::vector<Table> rank_theory_report(const RunSpec& spec, int64_t rank) {
  if (const auto flags = flags_not_followed(spec); !flags.empty()) {
    throw UsageError("--mesh", to_string(spec.mesh),
                     "needs theory's rehearsal, which does not model " + join(flags) +
                         " as it is here; allowed: its default, on a card",
                     "--mesh dp=2 --device virtual:h100-80gb");
  }
  MovedCount moved;
  const CountingMoved counting(moved);
  const Peak peak = predicted_peak(spec, Head::kLanguage, rank);
  std::vector<Table> tables = {rank_table(spec, rank), peak_table(peak)};
  if (!moved.rows().empty()) {
    tables.push_back(moved_table(moved.rows()));
    tables.push_back(moved_sums_table(moved.rows()));
  }
  return tables;
}

}  // namespace headroom
