#include "plan/rlhf_report.h"

#include <algorithm>

#include "profiling/report_cells.h"
#include "train/quantity.h"

namespace headroom {
namespace {

Table component_table(const std::string& title, std::vector<Component> components) {
  std::stable_sort(components.begin(), components.end(),
                   [](const Component& a, const Component& b) { return a.bytes > b.bytes; });
  Table table{.title = title, .columns = {{"component"}}};
  add_bytes_columns(table, "memory");
  table.columns.push_back({"why"});
  for (const Component& component : components) {
    std::vector<std::string> cells = {component.name};
    add_bytes_cells(cells, component.bytes);
    cells.emplace_back(component.why);
    table.rows.push_back(std::move(cells));
  }
  std::vector<std::string> cells = {"TOTAL"};
  add_bytes_cells(cells, sum(components));
  cells.emplace_back("");
  table.rows.push_back(std::move(cells));
  return table;
}

}  // namespace

std::vector<Table> rlhf_report(const RlhfSpec& spec) {
  const RlhfModels models(spec);
  const RankMemory worst = worst_rank(spec, models);
  std::vector<Table> tables;
  for (const Phase phase : kPhases) {
    tables.push_back(
        component_table("Phase: " + to_string(phase), worst.in_phase(phase, spec.swap_phases)));
  }
  return tables;
}

}  // namespace headroom
