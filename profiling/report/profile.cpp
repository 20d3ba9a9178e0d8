// profile_report: the whole of one Record.
#include <algorithm>
#include <map>
#include <optional>

#include "model/parameter_table.h"
#include "profiling/report/generation.h"
#include "profiling/report/out_of_memory.h"
#include "profiling/report/ranks.h"
#include "profiling/report/report.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/snapshots/watch.h"
#include "profiling/report/times/time.h"
#include "profiling/report/times/traffic.h"
#include "text/quantity.h"
#include "text/words.h"
#include "train/generate/rules.h"

namespace headroom {
namespace {

std::string shape_in_words(const RunSpec& spec) {
  const ModelConfig shape = model_config(spec);
  std::string text = spec.model_size + ":";
  for (const Dimension& dimension : dimensions_of(shape)) {
    const bool is_repeated = dimension.letter == 'G' && shape.kv_heads == shape.heads;
    if (is_repeated) continue;
    if (text.back() != ':') text += ",";
    text += std::string(" ") + dimension.label + " " + std::to_string(shape.*dimension.size);
  }
  for (const std::string& layer : layer_switches_of(shape)) text += ", " + layer;
  if (shape.name != spec.model_size) text += " (dimensions given)";
  return text;
}

std::string steps_in_words(const RunSpec& spec) {
  return std::to_string(spec.warmup_steps) + " warm-up (neither measured nor recorded), " +
         std::to_string(spec.measure_steps) + " measured, " + std::to_string(spec.record_steps) +
         " recorded after them";
}

// Memory of the card outside libtorch's allocator, and the source of each figure. "" for a device
// without a description.
std::string outside_in_words(const Record& record) {
  const auto card = record.environment.find("virtual_card");
  if (card == record.environment.end() || !card->contains("context_bytes")) return "";
  const auto words = [&](const char* what, const char* bytes, const char* known) {
    const auto value = card->find(bytes);
    if (value == card->end() || !value->is_number()) return std::string(what) + " unknown";
    return std::string(what) + " " + format_bytes(value->get<int64_t>()) + " (" +
           card->value(known, "assumed") + ")";
  };
  return words("CUDA context", "context_bytes", "context_known") + ", libraries" +
         words("", "library_bytes", "library_known");
}

// Non-default settings of the step that have no row of their own: "checkpoint full".
std::string other_settings(const RunSpec& spec) {
  static const std::vector<std::string> kOwnRows = {"profile_type", "micro_batches",  "precision",
                                                    "weights",      "master_weights", "attention",
                                                    "optimizer",    "optimizer_impl", "device"};
  const RunSpec usual;
  std::vector<std::string> settings;
  for (const Field& field : fields()) {
    const std::string value = field.get(spec);
    const bool told =
        (field.group != FieldGroup::kStep && field.group != FieldGroup::kGeneration) ||
        is_one_of(field.name, kOwnRows);
    if (!told && value != field.get(usual)) settings.push_back(field.name + " " + value);
  }
  return join(settings);
}

Table protocol_table(const Record& record) {
  const RunSpec& spec = record.spec;
  Table table{.title = "Profile of " + row_name(spec), .columns = {{"protocol"}, {"value"}}};
  const auto add = [&](const std::string& name, const std::string& value) {
    table.rows.push_back({name, value});
  };
  add("status", record.reason.empty() ? to_string(record.status)
                                      : to_string(record.status) + ": " + record.reason);
  add("mode", in_words(spec.profile_type));
  add("model", shape_in_words(spec));
  const int64_t parameters = parameter_count(model_config(spec));
  const bool bf16 = spec.weights == WeightType::kBf16;
  add("parameters", grouped(parameters) + ", " + format_bytes(parameters * (bf16 ? 2 : 4)) +
                        (bf16 ? " in BF16" : " in FP32"));
  add("batch", std::to_string(spec.batch_size) + " sequences of " +
                   std::to_string(spec.context_length) + " tokens" +
                   (spec.micro_batches == 1
                        ? ""
                        : ", in " + std::to_string(spec.micro_batches) + " micro-batches"));
  if (spec.profile_type == Mode::kGenerate) {
    add("generation", "prompts of " + std::to_string(prompt_tokens(spec)) +
                          " tokens, responses of " + std::to_string(response_tokens(spec)));
  }
  add("precision", precision_in_words(spec));
  add("attention", to_string(spec.attention));
  if (spec.profile_type == Mode::kTraining) {
    add("optimizer", to_string(spec.optimizer) + ", " + to_string(spec.optimizer_impl));
  }
  if (const std::string others = other_settings(spec); !others.empty()) {
    add("other settings", others);
  }
  const std::string device = device_name(record);
  const std::string asked = to_string(spec.device);
  add("device", device == asked ? device : device + " (--device " + asked + ")");
  if (const std::string outside = outside_in_words(record); !outside.empty()) {
    add("beside the allocator", outside);
  }
  add("steps", steps_in_words(spec));
  if (!spec.snapshot.empty() && record.status == Status::kOk) add("snapshot", spec.snapshot);
  for (const auto& note : record.notes) table.notes.push_back("note: " + note);
  if (record.trace_truncated) {
    table.notes.push_back("note: the trace is truncated: more than --max-entries " +
                          std::to_string(spec.max_entries) + " events, the oldest are missing");
  }
  return table;
}

void add_exact_bytes(std::vector<std::string>& row, int64_t bytes) {
  row.push_back(format_bytes(bytes));
  row.push_back(std::to_string(bytes));
}

// The answer, printed first.
Table peak_table(const Record& record) {
  const std::string of = " of " + row_name(record.spec) + " on " + device_name(record);
  const bool whole = record.status == Status::kOk;
  Table table{.title = whole ? "Peak memory" + of + ", highest over the measured steps"
                             : "Highest memory" + of + " before the run ended",
              .notes = {"reserved = taken from the device by the allocator, live or cached; "
                        "requested = as the program asked, before rounding.",
                        kUnitsNote},
              .columns = {{"peak"}, {"size", true}, {"bytes", true}, {"in phase"}}};
  const auto add = [&](const char* name, int64_t MemoryBytes::*quantity) {
    table.rows.push_back({name});
    add_exact_bytes(table.rows.back(), *record.peak.*quantity);
    const std::string phase = fullest_phase(record, quantity);
    table.rows.back().push_back(phase.empty() ? kNotAvailable : phase);
  };
  add("allocated", &MemoryBytes::allocated);
  add("reserved", &MemoryBytes::reserved);
  add("requested", &MemoryBytes::requested);
  return table;
}

Table phase_table(const Record& record) {
  Table table{.title = "Peak per phase", .columns = {{"phase"}}};
  for (const char* name : {"allocated", "reserved", "requested"}) add_bytes_columns(table, name);
  table.columns.push_back({"peak"});
  for (const auto& name : record.phase_order) {
    const auto it = record.phases.find(name);
    if (it == record.phases.end()) continue;
    std::vector<std::string> row = {name};
    add_bytes_cells(row, it->second.allocated);
    add_bytes_cells(row, it->second.reserved);
    add_bytes_cells(row, it->second.requested);
    row.push_back(name == record.peak_phase ? "<- the peak" : "");
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table category_table(const Record& record) {
  Table table{.title = "Live memory at the peak of the recorded step",
              .columns = {{"category"}, {"size", true}, {"bytes", true}, {"share", true}}};
  std::vector<std::pair<std::string, int64_t>> sorted(record.categories_at_peak.begin(),
                                                      record.categories_at_peak.end());
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  int64_t sum = 0;
  for (const auto& category : sorted) sum += category.second;
  const auto add = [&](const std::string& name, int64_t bytes) {
    table.rows.push_back({name});
    add_exact_bytes(table.rows.back(), bytes);
    table.rows.back().push_back(percent(bytes, sum));
  };
  for (const auto& [name, bytes] : sorted) add(readable(name), bytes);
  add("sum", sum);
  if (!record.recorded_peak) return table;
  const int64_t peak = record.recorded_peak->allocated;
  table.notes.push_back(sum == peak
                            ? "The sum is the allocated peak of the recorded step, to the byte."
                            : "MISMATCH: the recorded step peaked at " + std::to_string(peak) +
                                  " bytes, the categories sum to " + std::to_string(sum) + ".");
  if (record.graph_pool_bytes > 0) {
    table.notes.push_back("The CUDA graph of the step reserves " +
                          format_bytes(record.graph_pool_bytes) +
                          " for its private pool. Of them the gradients and the loss are live "
                          "between steps; activations and temporaries lie in the rest.");
  }
  if (record.peak && record.peak->allocated != peak) {
    table.notes.push_back("The measured steps peaked " +
                          signed_bytes(record.peak->allocated - peak) + " from the recorded step.");
  }
  return table;
}

Table residual_table(const Record& record) {
  Table table{.title = "Kept for backward by one middle block",
              .columns = {{"quantity"}, {"size", true}, {"bytes", true}, {"tensors", true}}};
  std::vector<std::string> row = {"residuals"};
  add_exact_bytes(row, *record.residual_bytes_per_block);
  const auto& tensors = record.residual_tensors_per_block;
  row.push_back(tensors ? std::to_string(*tensors) : kNotAvailable);
  table.rows.push_back(std::move(row));
  return table;
}

// Other memories that held at least 1 MiB.
Table spaces_table(const Record& record) {
  constexpr int64_t kWorthARow = 1 << 20;
  Table table{.title = "Other memory, in the recorded steps",
              .columns = {{"memory"}, {"phase"}},
              .keys = 2};
  add_bytes_columns(table, "held");
  for (const auto& [name, space] : record.spaces) {
    if (space.peak.allocated < kWorthARow) continue;
    const auto add = [&](const std::string& phase, const MemoryBytes& bytes) {
      table.rows.push_back({readable(name), phase});
      add_bytes_cells(table.rows.back(), bytes.allocated);
    };
    add("all", space.peak);
    for (const std::string& phase : record.phase_order) {
      const auto it = space.phases.find(phase);
      if (it != space.phases.end()) add(phase, it->second);
    }
  }
  return table;
}

// The measured value of theory's quantity `name`.
std::optional<int64_t> measured(const Record& record, const std::string& name) {
  if (name == "residual_bytes_per_block") return record.residual_bytes_per_block;
  if (name == "residual_tensors_per_block") return record.residual_tensors_per_block;
  if (name == "recomputed") return record.recomputed_bytes;
  static const std::vector<std::string> kWays = {"to_host_bytes", "to_card_bytes",
                                                 "from_disk_bytes", "to_disk_bytes"};
  if (is_one_of(name, kWays)) {
    const auto way = record.host_traffic.find(name.substr(0, name.size() - 6));
    if (way == record.host_traffic.end()) return std::nullopt;
    return way->second;
  }
  static const std::map<std::string, std::string> kSpaces = {
      {"host_pinned_bytes", "host_pinned"},
      {"host_pageable_bytes", "host"},
      {"disk_bytes", "disk"},
      {"disk_buffers_bytes", "disk_buffers"}};
  if (const auto memory = kSpaces.find(name); memory != kSpaces.end()) {
    const auto space = record.spaces.find(memory->second);
    if (space == record.spaces.end()) return std::nullopt;
    return space->second.peak.allocated;
  }
  if (record.peak) {
    if (name == "peak_allocated_bytes") return record.peak->allocated;
    if (name == "peak_reserved_bytes") return record.peak->reserved;
    if (name == "peak_requested_bytes") return record.peak->requested;
  }
  const auto it = record.category_peaks.find(name);
  if (it == record.category_peaks.end()) return std::nullopt;
  return it->second;
}

// A count stays a count; everything else is bytes.
void add_theory_cells(std::vector<std::string>& row, const std::string& name, int64_t predicted,
                      std::optional<int64_t> found) {
  const bool count = name.find("tensors") != std::string::npos;
  const auto plain = [](int64_t value) { return std::to_string(value); };
  const auto add = [&](std::optional<int64_t> value, std::string (*text)(int64_t),
                       const char* otherwise) {
    row.push_back(!value ? otherwise : count ? plain(*value) : text(*value));
    row.push_back(value && !count ? plain(*value) : kNotAvailable);
  };
  add(predicted, format_bytes, kNotAvailable);
  add(found, format_bytes, "not measured");
  add(found ? std::optional(*found - predicted) : std::nullopt, signed_bytes, kNotAvailable);
  row.push_back(found ? signed_percent(*found - predicted, predicted) : kNotAvailable);
}

Table theory_table(const Record& record) {
  Table table{.title = "Theory beside measurement", .columns = {{"quantity"}}};
  table.notes.push_back(
      "Each category at its own fullest moment of the recorded step, so these do not sum to the "
      "peak.");
  for (const char* name : {"predicted", "measured", "difference"}) add_bytes_columns(table, name);
  table.columns.push_back({"relative", true});
  for (const auto& [name, predicted] : record.predicted) {
    table.rows.push_back({readable(name)});
    add_theory_cells(table.rows.back(), name, predicted, measured(record, name));
  }
  return table;
}

}  // namespace

std::vector<Table> profile_report(const Record& record, const DiskRate& disk_rate) {
  // The answer first: a failed run's status; otherwise the peak and its phase, then times.
  const bool whole = record.status == Status::kOk;
  std::vector<Table> tables;
  if (!whole) tables.push_back(protocol_table(record));
  if (record.out_of_memory && record.out_of_memory->refusal) {
    tables.push_back(out_of_memory_table(*record.out_of_memory));
  }
  if (record.peak) tables.push_back(peak_table(record));
  if (!record.phases.empty()) tables.push_back(phase_table(record));
  if (const auto times = step_times(record.step_ms)) tables.push_back(time_table(record, *times));
  if (record.generation) tables.push_back(generation_table(*record.generation));
  for (Table& table : rank_tables(record)) tables.push_back(std::move(table));
  for (Table& table : watch_tables(record)) tables.push_back(std::move(table));
  if (!record.categories_at_peak.empty()) tables.push_back(category_table(record));
  if (const Table spaces = spaces_table(record); !spaces.rows.empty()) tables.push_back(spaces);
  for (Table& table : traffic_tables(record, disk_rate)) tables.push_back(std::move(table));
  if (record.residual_bytes_per_block) tables.push_back(residual_table(record));
  if (!record.predicted.empty()) tables.push_back(theory_table(record));
  if (whole) tables.push_back(protocol_table(record));
  return tables;
}

}  // namespace headroom
