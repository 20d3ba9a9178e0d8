// residuals_table: theory held against measurement, block by block.
#include "profiling/report/cells.h"
#include "profiling/report/report.h"
#include "profiling/report/select.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// A measured figure, theory's beside it and the difference.
void add_pair(std::vector<std::string>& row, const Record& record,
              const std::optional<int64_t>& measured, const char* predicted,
              std::string (*text)(int64_t)) {
  const auto theory = record.predicted.find(predicted);
  if (record.status != Status::kOk || !measured || theory == record.predicted.end()) {
    row.insert(row.end(), 3, status_or_not_available(record));
    return;
  }
  row.push_back(text(*measured));
  row.push_back(text(theory->second));
  row.push_back(signed_percent(theory->second - *measured, *measured));
}

std::string plain(int64_t value) { return std::to_string(value); }

std::vector<std::string> residuals_row(const Record& record) {
  const ModelConfig config = model_config(record.spec);
  std::vector<std::string> row = {
      record.spec.model_size,
      plain(config.d_model) + "/" + plain(config.layers) + "/" + plain(config.heads),
      plain(record.spec.context_length), to_string(record.spec.precision),
      to_string(record.spec.attention)};
  const auto& tensors = record.residual_tensors_per_block;
  row.push_back(record.status == Status::kOk && tensors ? plain(*tensors)
                                                        : status_or_not_available(record));
  add_pair(row, record, record.residual_bytes_per_block, "residual_bytes_per_block", plain);
  add_pair(row, record, record.saved_bytes, "activations", format_bytes);
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
                          {"bytes per block", true},
                          {"theory", true},
                          {"difference", true},
                          {"whole model", true},
                          {"theory, whole model", true},
                          {"difference, whole model", true}}};
  std::vector<std::string> about;
  const RecordPointers latest = latest_of_each(records, about);
  for (const Record* record : latest) table.rows.push_back(residuals_row(*record));
  add_closing_notes(table, latest, about);
  return table;
}

}  // namespace headroom
