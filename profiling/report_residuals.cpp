// residuals_table: theory held against measurement, block by block.
#include "profiling/report.h"
#include "profiling/report_cells.h"
#include "profiling/report_select.h"
#include "train/quantity.h"

namespace headroom {
namespace {

std::optional<int64_t> predicted_of(const Record& record, const char* name) {
  const auto it = record.predicted.find(name);
  return it == record.predicted.end() ? std::nullopt : std::optional(it->second);
}

std::vector<std::string> residuals_row(const Record& record) {
  const ModelConfig config = model_config(record.spec);
  std::vector<std::string> row = {
      record.spec.model_size,
      std::to_string(config.d_model) + "/" + std::to_string(config.layers) + "/" +
          std::to_string(config.heads),
      std::to_string(record.spec.context_length), to_string(record.spec.precision),
      to_string(record.spec.attention)};
  const std::string otherwise = status_or_not_available(record);
  const bool ok = record.status == Status::kOk;
  const auto measured = ok ? record.residual_bytes_per_block : std::nullopt;
  const auto predicted = predicted_of(record, "residual_bytes_per_block");
  const auto tensors = ok ? record.residual_tensors_per_block : std::nullopt;
  row.push_back(tensors ? std::to_string(*tensors) : otherwise);
  row.push_back(measured ? std::to_string(*measured) : otherwise);
  row.push_back(predicted ? std::to_string(*predicted) : kNotAvailable);
  row.push_back(measured && predicted ? signed_percent(*predicted - *measured, *measured)
                                      : otherwise);
  const auto saved = ok ? record.saved_bytes : std::nullopt;
  const auto all = predicted_of(record, "activations");
  row.push_back(saved ? format_bytes(*saved) : otherwise);
  row.push_back(saved && all ? signed_percent(*all - *saved, *saved) : otherwise);
  return row;
}

}  // namespace

Table residuals_table(const std::vector<Record>& records) {
  Table table{.title = "Kept for backward: theory held against measurement",
              .columns = {{"size"},
                          {"d/L/H"},
                          {"context", true},
                          {"precision"},
                          {"attention"},
                          {"tensors per block", true},
                          {"measured bytes per block", true},
                          {"theory bytes per block", true},
                          {"difference", true},
                          {"whole model, measured", true},
                          {"difference of theory", true}}};
  std::vector<std::string> about;
  const RecordPointers latest = latest_of_each(records, about);
  for (const Record* record : latest) table.rows.push_back(residuals_row(*record));
  table.notes = {"All rows: " + common_settings(latest) + ".", kUnitsNote};
  for (const Record* record : latest) {
    if (record->status != Status::kOk) table.notes.push_back(failure_note(*record));
  }
  table.notes.insert(table.notes.end(), about.begin(), about.end());
  return table;
}

}  // namespace headroom
