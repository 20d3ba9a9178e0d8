#include "plan/ppo/fit_report.h"

#include <nlohmann/json.hpp>

#include "plan/fit/answers/command_line.h"
#include "plan/fit/questions/capacity.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

void add_notes(const PpoFit& fit, const Card& card, Table& table) {
  if (fit.answer) table.notes.push_back("this is " + ppo_command(fit.answer->run));
  if (fit.cheaper) {
    table.notes.push_back(
        "the smallest of the cheaper sets: " + in_words(fit.techniques, fit.cheaper->levels) +
        " (needs " + format_bytes(fit.cheaper->need) +
        " by theory): " + fit.cheaper->record->reason);
  } else if (fit.answer) {
    table.notes.emplace_back("nothing is cheaper: it needs no technique");
  }
  for (const std::string& note : fit.notes) table.notes.push_back(note);
  table.notes.push_back(margin_in_words(card));
  std::vector<std::string> names;
  for (const RunTechnique& technique : fit.techniques) {
    names.emplace_back(row_of(technique.technique).name);
  }
  table.notes.push_back("order of costs, most expensive first: " + join(names));
}

Table answer_table(const PpoFit& fit, const Card& card) {
  const Record& record = *fit.answer->record;
  Table table{.title = "Cheapest set-up of an iteration on " + card.name + ": " +
                       in_words(fit.techniques, fit.answer->levels),
              .columns = {{"phase"}}};
  for (const char* name : {"allocated", "reserved", "margin"}) add_bytes_columns(table, name);
  for (const PhaseComponents& phase : record.ppo->phases) {
    if (!record.phases.contains(phase.phase)) continue;
    const MemoryBytes& bytes = record.phases.at(phase.phase);
    std::vector<std::string> cells = {phase.phase};
    add_bytes_cells(cells, bytes.allocated);
    add_bytes_cells(cells, bytes.reserved);
    add_bytes_cells(cells, capacity_of(card) - bytes.allocated);
    table.rows.push_back(std::move(cells));
  }
  for (const auto& [space, figures] : record.spaces) {
    std::vector<std::string> cells = {"in host memory (" + space.text() + ")"};
    add_bytes_cells(cells, figures.peak.allocated);
    add_bytes_cells(cells, figures.peak.reserved);
    add_bytes_cells(cells, std::nullopt);
    table.rows.push_back(std::move(cells));
  }
  return table;
}

}  // namespace

std::string ppo_command(const PpoRun& run) {
  std::string command = "headroom ppo";
  command += flags_in_words(run.shared, [](const Field& field, bool is_default) {
    return is_of_iterations(field) && (!is_default || field.required);
  });
  const nlohmann::json settings = to_json(run.setup);
  for (const auto& [name, value] : settings.items()) {
    command += " " + flag_of_setting(name) + "=" + shell_word(value.get<std::string>());
  }
  return command;
}

std::vector<Table> ppo_fit_report(const PpoFit& fit, const Card& card) {
  if (fit.answer) {
    Table table = answer_table(fit, card);
    add_notes(fit, card, table);
    return {table};
  }
  if (!fit.nearest) return {};
  Table table{.title = "No set-up of an iteration fits " + card.name, .columns = {{"set"}}};
  add_bytes_columns(table, "needs, by theory");
  add_bytes_columns(table, "has");
  std::vector<std::string> cells = {in_words(fit.techniques, fit.nearest->levels)};
  add_bytes_cells(cells, fit.nearest->need);
  add_bytes_cells(cells, capacity_of(card));
  table.rows.push_back(std::move(cells));
  table.notes.push_back("run: " + fit.nearest->record->reason);
  add_notes(fit, card, table);
  return {table};
}

}  // namespace headroom
