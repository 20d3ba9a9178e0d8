#include "plan/ppo/report.h"

#include <array>
#include <map>
#include <optional>
#include <string>

#include "profiling/report/rows/cells.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/phase_components.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// Rows of a phase's table in order; computed and measured components are sorted into them.
constexpr std::array kRows = {"actor weights",  "actor gradients",   "actor optimizer",
                              "critic weights", "critic gradients",  "critic optimizer",
                              "reward weights", "reference weights", kCacheComponent,
                              kActivations,     kBesideModels,       kWorkspaces};

// "actor parameters", "kv_cache", "temporaries".
std::string row_of_measured(const std::string& component) {
  const size_t space = component.find(' ');
  const std::string category = space == std::string::npos ? component : component.substr(space + 1);
  if (space != std::string::npos) {
    std::string row = component_of_role(component.substr(0, space), category);
    if (!row.empty()) return row;
  }
  if (category == "kv_cache") return kCacheComponent;
  if (category == "workspaces") return kWorkspaces;
  return category == "other" ? kBesideModels : kActivations;
}

using ByRow = std::map<std::string, int64_t>;

ByRow measured_rows(const PhaseComponents& phase) {
  ByRow rows;
  for (const auto& [component, bytes] : phase.components) rows[row_of_measured(component)] += bytes;
  return rows;
}

// A row of one table; the computed figure stands before the measured one if it is known.
void add_row(Table& table, const std::string& name, std::optional<int64_t> computed,
             int64_t measured) {
  std::vector<std::string> cells = {name};
  if (computed) add_bytes_cells(cells, *computed);
  add_bytes_cells(cells, measured);
  if (computed) {
    cells.push_back(*computed > 0 ? signed_percent(measured - *computed, *computed) : "");
  }
  table.rows.push_back(std::move(cells));
}

Table phase_table(const PhaseComponents& phase, const PhasePeak* peak) {
  Table table{.title = "Phase: " + phase.phase, .columns = {{"component"}}};
  if (peak != nullptr) add_bytes_columns(table, "computed");
  add_bytes_columns(table, "measured");
  if (peak != nullptr) table.columns.push_back({"difference"});
  const ByRow measured = measured_rows(phase);
  std::optional<ByRow> computed;
  if (peak != nullptr) computed = by_component(*peak);
  const auto of = [](const ByRow& rows, const std::string& row) {
    const auto found = rows.find(row);
    return found == rows.end() ? int64_t{0} : found->second;
  };
  for (const std::string row : kRows) {
    const int64_t bytes = of(measured, row);
    const auto beside = computed ? std::optional(of(*computed, row)) : std::nullopt;
    if (bytes == 0 && beside.value_or(0) == 0) continue;
    add_row(table, row, beside, bytes);
  }
  add_row(table, "TOTAL", peak != nullptr ? std::optional(peak->requested) : std::nullopt,
          phase.requested);
  if (peak != nullptr) table.notes.push_back("the phase with the highest peak: " + peak->where);
  return table;
}

// Nested phases have no computed peak of their own.
Table phases_table(const Record& record, const std::optional<ComputedIteration>& computed) {
  Table table{.title = "Peak per phase", .columns = {{"phase"}}};
  if (computed) add_bytes_columns(table, "computed");
  add_bytes_columns(table, "allocated");
  if (computed) table.columns.push_back({"difference", true});
  for (const char* name : {"reserved", "requested"}) add_bytes_columns(table, name);
  for (const std::string& name : record.phase_order) {
    const MemoryBytes& bytes = record.phases.at(name);
    const PhasePeak* const peak = computed ? computed->find(name) : nullptr;
    std::vector<std::string> cells = {name};
    if (computed) {
      add_bytes_cells(cells, peak != nullptr ? std::optional(peak->allocated) : std::nullopt, "");
    }
    add_bytes_cells(cells, bytes.allocated);
    if (computed) {
      cells.push_back(peak == nullptr
                          ? ""
                          : signed_percent(bytes.allocated - peak->allocated, peak->allocated));
    }
    for (const int64_t one : {bytes.reserved, bytes.requested}) add_bytes_cells(cells, one);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

Table iterations_table(const PpoFigures& figures) {
  Table table{.title = "Iterations", .columns = {{"iteration", true}}};
  for (const char* name : {"score", "KL", "reward", "tokens of a response"}) {
    table.columns.push_back({name, true});
  }
  for (size_t i = 0; i < figures.iterations.size(); ++i) {
    const IterationFigures& one = figures.iterations[i];
    table.rows.push_back({std::to_string(i + 1), number_text(one.score, 4), number_text(one.kl, 4),
                          number_text(one.reward, 4), number_text(one.response_tokens, 1)});
  }
  table.notes = {"means over sequences; KL of actor to reference in nats a token, before training"};
  return table;
}

}  // namespace

std::vector<Table> ppo_report(const Record& record,
                              const std::optional<ComputedIteration>& computed) {
  std::vector<Table> tables;
  if (!record.ppo) return tables;
  if (!record.phases.empty()) tables.push_back(phases_table(record, computed));
  for (const PhaseComponents& phase : record.ppo->phases) {
    tables.push_back(phase_table(phase, computed ? computed->find(phase.phase) : nullptr));
  }
  if (!tables.empty() && computed) {
    tables.back().notes.push_back(
        "computed: the iteration run with shapes in place of tensors, by the allocator's rules; "
        "components: requested bytes at each phase's fullest instant");
    if (!computed->left_out.empty()) {
      tables.back().notes.push_back("not in the computation: " + join(computed->left_out));
    }
  }
  if (!record.ppo->iterations.empty()) tables.push_back(iterations_table(*record.ppo));
  return tables;
}

}  // namespace headroom
