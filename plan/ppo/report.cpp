#include "plan/ppo/report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "plan/ppo/computed.h"
#include "plan/rlhf/memory.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// Rows of a phase's table, in this order; both sides are sorted into them.
constexpr std::array kRows = {"actor weights",  "actor gradients",   "actor optimizer",
                              "critic weights", "critic gradients",  "critic optimizer",
                              "reward weights", "reference weights", "KV cache",
                              "activations",    "experience",        "workspaces"};

std::string role_row(const std::string& role, const std::string& category) {
  if (category == "parameters") return role + " weights";
  if (category == "gradients") return role + " gradients";
  if (category == "optimizer_state" || category == "master_weights") return role + " optimizer";
  return "";
}

// "actor parameters", "kv_cache", "temporaries".
std::string row_of_measured(const std::string& component) {
  const size_t space = component.find(' ');
  const std::string category = space == std::string::npos ? component : component.substr(space + 1);
  if (space != std::string::npos) {
    const std::string row = role_row(component.substr(0, space), category);
    if (!row.empty()) return row;
  }
  if (category == "kv_cache") return "KV cache";
  if (category == "workspaces") return "workspaces";
  return category == "other" ? "experience" : "activations";
}

std::string row_of_computed(const Component& component) {
  static const std::map<std::string, std::string> kNames = {
      {"Actor (weights)", "actor weights"},
      {"Actor (gradients)", "actor gradients"},
      {"Actor (optimizer)", "actor optimizer"},
      {"Critic (weights)", "critic weights"},
      {"Critic (gradients)", "critic gradients"},
      {"Critic (optimizer)", "critic optimizer"},
      {"Reward model (weights)", "reward weights"},
      {"Reference model (weights)", "reference weights"}};
  const auto known = kNames.find(component.name);
  if (known != kNames.end()) return known->second;
  switch (component.kind) {
    case ComponentKind::kKvCache:
      return "KV cache";
    case ComponentKind::kExperience:
      return "experience";
    case ComponentKind::kContext:
      return std::string(component.name).starts_with("cuBLAS") ? "workspaces" : "";
    default:
      return "activations";
  }
}

using ByRow = std::map<std::string, int64_t>;

std::optional<RlhfPhase> phase_of(const std::string& name) {
  for (const RlhfPhase phase : kRlhfPhases) {
    if (to_string(phase) == name) return phase;
  }
  return std::nullopt;
}

// What lies in libtorch's allocator: the CUDA context does not.
ByRow computed_rows(const RankMemory& memory, RlhfPhase phase) {
  ByRow rows;
  for (const Component& component : memory.in_phase(phase, /*swap_phases=*/false)) {
    const std::string row = row_of_computed(component);
    if (!row.empty()) rows[row] += component.bytes;
  }
  return rows;
}

ByRow measured_rows(const PhaseComponents& phase) {
  ByRow rows;
  for (const auto& [component, bytes] : phase.components) rows[row_of_measured(component)] += bytes;
  return rows;
}

int64_t sum_of(const ByRow& rows) {
  int64_t bytes = 0;
  for (const auto& [row, of_row] : rows) bytes += of_row;
  return bytes;
}

void add_row(Table& table, const std::string& name, std::optional<int64_t> computed,
             int64_t measured) {
  std::vector<std::string> cells = {name};
  add_bytes_cells(cells, computed);
  add_bytes_cells(cells, measured);
  cells.push_back(computed && *computed > 0 ? signed_percent(measured - *computed, *computed) : "");
  table.rows.push_back(std::move(cells));
}

Table phase_table(const PhaseComponents& phase, const std::optional<RankMemory>& memory) {
  Table table{.title = "Phase: " + phase.phase, .columns = {{"component"}}};
  add_bytes_columns(table, "computed");
  add_bytes_columns(table, "measured");
  table.columns.push_back({"difference"});
  const ByRow measured = measured_rows(phase);
  const std::optional<RlhfPhase> known = phase_of(phase.phase);
  std::optional<ByRow> computed;
  if (memory && known) computed = computed_rows(*memory, *known);
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
  add_row(table, "TOTAL", computed ? std::optional(sum_of(*computed)) : std::nullopt,
          phase.requested);
  return table;
}

Table phases_table(const Record& record) {
  Table table{.title = "Peak per phase", .columns = {{"phase"}}};
  for (const char* name : {"allocated", "reserved", "requested"}) add_bytes_columns(table, name);
  for (const std::string& name : record.phase_order) {
    const MemoryBytes& bytes = record.phases.at(name);
    std::vector<std::string> cells = {name};
    for (const int64_t one : {bytes.allocated, bytes.reserved, bytes.requested}) {
      add_bytes_cells(cells, one);
    }
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

std::optional<RankMemory> computed_of(const Record& record, std::vector<std::string>* left_out) {
  const PpoSetup setup = ppo_setup_from_json(record.ppo->setup);
  const auto spec = computed_spec(record.spec, setup, left_out);
  if (!spec) return std::nullopt;
  return worst_rank(*spec, RlhfModels(*spec));
}

}  // namespace

std::map<std::string, int64_t> computed_peaks(const Record& record) {
  std::map<std::string, int64_t> peaks;
  std::vector<std::string> left_out;
  const std::optional<RankMemory> memory = computed_of(record, &left_out);
  if (!memory) return peaks;
  for (const RlhfPhase phase : kRlhfPhases) {
    peaks[to_string(phase)] = sum_of(computed_rows(*memory, phase));
  }
  return peaks;
}

std::vector<Table> ppo_report(const Record& record) {
  std::vector<Table> tables;
  if (!record.ppo) return tables;
  if (!record.phases.empty()) tables.push_back(phases_table(record));
  std::vector<std::string> left_out;
  const std::optional<RankMemory> memory = computed_of(record, &left_out);
  for (const PhaseComponents& phase : record.ppo->phases) {
    tables.push_back(phase_table(phase, memory));
  }
  if (!tables.empty() && memory) {
    tables.back().notes.push_back(
        "computed: headroom rlhf's sum of components of the same set-up; measured: requested bytes "
        "at each phase's fullest instant of a recorded iteration");
    if (!left_out.empty()) {
      tables.back().notes.push_back("not in the computation: " + join(left_out));
    }
  }
  if (!record.ppo->iterations.empty()) tables.push_back(iterations_table(*record.ppo));
  return tables;
}

}  // namespace headroom
