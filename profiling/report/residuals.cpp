// residuals_table: theory against measurement, block by block.
#include <algorithm>
#include <optional>
#include <utility>

#include "profiling/report/report.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/rows/row_settings.h"
#include "profiling/report/rows/select.h"
#include "text/words.h"

namespace headroom {
namespace {

const std::vector<std::string> kShown = {"model_size", "context_length", "precision", "attention"};

std::string plain(int64_t value) { return std::to_string(value); }

// A measured figure, theory's figure and the difference.
struct Pair {
  Pair(const Record& record, const std::optional<int64_t>& figure, const char* predicted) {
    const auto row = record.predicted.find(predicted);
    if (record.status != Status::kOk || !figure || row == record.predicted.end()) return;
    measured = figure;
    theory = row->second;
  }
  std::string difference(const std::string& otherwise) const {
    return measured ? signed_percent(*theory - *measured, *measured) : otherwise;
  }
  std::optional<int64_t> measured;
  std::optional<int64_t> theory;
};

std::vector<std::string> residuals_row(const Record& record, const RowSettings& settings) {
  const ModelConfig config = model_config(record.spec);
  const std::string otherwise = status_or_not_available(record);
  std::vector<std::string> row = {
      setting_text(record, *find_field("model_size")),
      plain(config.d_model) + "/" + plain(config.layers) + "/" + plain(config.heads),
      plain(record.spec.context_length), state_precision(record.spec).name,
      to_string(record.spec.attention)};
  settings.add_cells(row, record);
  const auto& tensors = record.residual_tensors_per_block;
  row.push_back(record.status == Status::kOk && tensors ? plain(*tensors) : otherwise);
  const Pair block(record, record.residual_bytes_per_block, "residual_bytes_per_block");
  for (const auto& bytes : {block.measured, block.theory}) {
    row.push_back(bytes ? plain(*bytes) : otherwise);
  }
  row.push_back(block.difference(otherwise));
  const Pair whole(record, record.saved_bytes, "activations");
  add_bytes_cells(row, whole.measured, otherwise);
  add_bytes_cells(row, whole.theory, otherwise);
  row.push_back(whole.difference(otherwise));
  settings.add_exact_cells(row, record);
  return row;
}

}  // namespace

Table residuals_table(const std::vector<Record>& records) {
  std::vector<std::string> about;
  const RecordPointers latest = latest_of_each(records, about);
  std::vector<const Field*> varying = varying_fields(latest, kShown);
  // The column d/L/H already shows these.
  std::erase_if(varying, [](const Field* field) {
    return is_one_of(field->name, {"d_model", "layers", "heads"});
  });
  const RowSettings settings(latest, std::move(varying), kShown);
  Table table{.title = "Kept for backward: theory held against measurement",
              .columns = {{"size"}, {"d/L/H"}, {"context", true}, {"precision"}, {"attention"}}};
  settings.add_columns(table);
  table.keys = table.columns.size();
  for (const char* name : {"tensors per block", "bytes per block", "theory", "difference"}) {
    table.columns.push_back({name, true});
  }
  add_bytes_columns(table, "whole model");
  add_bytes_columns(table, "theory, whole model");
  table.columns.push_back({"difference, whole model", true});
  settings.add_exact_columns(table);
  for (const Record* record : latest) {
    table.rows.push_back(residuals_row(*record, settings));
  }
  add_closing_notes(table, latest, about);
  return table;
}

}  // namespace headroom
