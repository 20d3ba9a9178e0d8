#include "plan/measured.h"

#include <algorithm>
#include <iterator>

#include "plan/cost/model_cost.h"
#include "profiling/report/rows/cells.h"
#include "train/settings/vocabulary/weights.h"

namespace headroom {
namespace {

int64_t kept_for_backward(const ModelConfig& shape, const RunSpec& run) {
  const BatchCost cost = batch_cost(shape, Head::kLanguage,
                                    {.sequences = run.batch_size,
                                     .tokens = run.context_length,
                                     .attention = run.attention,
                                     .precision = run.precision,
                                     .weights = run.weights});
  return (cost.embedding + shape.layers * cost.block_kept() + cost.head)
      .on_rank({}, shape.vocab_size);
}

void add_rows(Table& table, const Record& record) {
  const ModelConfig shape = model_config(record.spec);
  const ModelElements model = model_elements(shape, Head::kLanguage);
  const int64_t elements = model.total();
  const StatePrecision& precision = state_precision(record.spec);
  const auto add = [&](const char* component, int64_t computed, const char* category) {
    const auto measured = record.category_peaks.find(category);
    if (measured == record.category_peaks.end()) return;
    std::vector<std::string> cells = {row_name(record.spec), device_name(record), component};
    add_bytes_cells(cells, computed);
    add_bytes_cells(cells, measured->second);
    cells.push_back(signed_bytes(measured->second - computed));
    table.rows.push_back(std::move(cells));
  };
  add("weights", precision.weight * elements, "parameters");
  if (precision.master > 0) {
    add("master weights", precision.master * elements, "master_weights");
  }
  add("gradients", precision.gradient * elements, "gradients");
  add("optimizer's moments", optimizer_bytes(model, {}, 0, record.spec.optimizer, precision.moment),
      "optimizer_state");
  add("activations and logits", kept_for_backward(shape, record.spec), "activations");
}

}  // namespace

std::vector<Record> comparable(const std::vector<Record>& records, const ModelConfig* shape) {
  std::vector<Record> kept;
  std::copy_if(records.begin(), records.end(), std::back_inserter(kept), [&](const Record& record) {
    return record.status == Status::kOk && record.spec.profile_type == Mode::kTraining &&
           (shape == nullptr || same_shape(model_config(record.spec), *shape));
  });
  return kept;
}

Table measured_table(const std::vector<Record>& records) {
  Table table{.title = "Computed, and measured by headroom profile",
              .notes = {"One model on one GPU, each component at its own fullest instant. Other "
                        "parts of a plan (KV cache, experience, shards) are computed only. The "
                        "fused optimizer also counts steps, 4 bytes for each tensor.",
                        kUnitsNote},
              .columns = {{"run"}, {"device"}, {"component"}}};
  add_bytes_columns(table, "computed");
  add_bytes_columns(table, "measured");
  table.columns.push_back({"difference", true});
  for (const Record& record : records) add_rows(table, record);
  return table;
}

}  // namespace headroom
