#include "plan/fit/report.h"

#include <algorithm>

#include "plan/fit/command_line.h"
#include "plan/fit/judge.h"
#include "plan/fit/need.h"
#include "profiling/report/rows/cells.h"
#include "profiling/theory/peak.h"
#include "text/quantity.h"

namespace headroom {
namespace {

const char* name_of(Open open) { return open == Open::kBatch ? "batch size" : "context length"; }

// Of a run that ended well.
int64_t measured_peak(const FitAnswer& answer) { return answer.verdict.record->peak->allocated; }

int64_t margin_of(const FitFound& found, const FitAnswer& answer) {
  return capacity_of(found.card) - measured_peak(answer);
}

// "batch 13: out of memory, short by 1.2 GiB".
std::string beyond_in_words(const FitFound& found, const FitAnswer& answer) {
  if (!answer.beyond) return "nothing is";
  const int64_t excess = answer.beyond->need - capacity_of(found.card);
  std::string words = answer.beyond->what + ": " + to_string(answer.beyond->verdict.record->status);
  words += excess > 0 ? ", short by " + format_bytes(excess) : ", free memory is in pieces";
  return words;
}

Table answers_table(const FitFound& found) {
  const bool of_value = found.question.open != Open::kNothing;
  Table table{.title = title_of(found), .columns = {{"", true}, {"set of techniques"}}};
  if (of_value) table.columns.push_back({name_of(found.question.open), true});
  add_bytes_columns(table, "peak");
  add_bytes_columns(table, "margin");
  table.columns.push_back({"margin %"});
  add_bytes_columns(table, "host memory");
  table.columns.push_back({"one step beyond"});
  for (size_t i = 0; i < found.result.answers.size(); ++i) {
    const FitAnswer& answer = found.result.answers[i];
    std::vector<std::string> cells = {std::to_string(i + 1), answer.set.in_words()};
    if (of_value) cells.push_back(std::to_string(answer.value));
    add_bytes_cells(cells, measured_peak(answer));
    add_bytes_cells(cells, margin_of(found, answer));
    cells.push_back(percent(margin_of(found, answer), found.card.total_bytes));
    add_bytes_cells(cells, predicted_host_bytes(answer.set.spec));
    cells.push_back(beyond_in_words(found, answer));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

void add_notes(const FitFound& found, Table& table) {
  const FitResult& result = found.result;
  if (!result.answers.empty()) {
    table.notes.emplace_back(
        "Each was run on the virtual card, and so was one step beyond it, which does not fit.");
    table.notes.push_back("margin: " + format_bytes(found.card.total_bytes) + " of the card less " +
                          format_bytes(found.card.context_bytes) + " of its CUDA context (" +
                          (found.card.context_measured ? "measured" : "assumed") +
                          ") less the peak.");
  }
  table.notes.push_back(grouped(static_cast<int64_t>(result.sets)) +
                        " sets; cheapest first, in this order of costs: " +
                        found.question.order.in_words(Searched::kInRuns) + ".");
  for (const std::string& note : result.notes) table.notes.push_back(note + ".");
  if (result.stopped) table.notes.emplace_back("INTERRUPTED: this is what was known by then.");
}

Table commands_table(const FitFound& found) {
  Table table{.title = "Commands", .columns = {{"", true}, {"command"}}};
  for (size_t i = 0; i < found.result.answers.size(); ++i) {
    table.rows.push_back(
        {std::to_string(i + 1), profile_command(found.result.answers[i].set.spec)});
  }
  return table;
}

// The cards on which nothing fits.
Table smaller_table(const FitFound& found) {
  Table table{.title = "Smaller cards", .columns = {{"card"}, {"set that needs least"}}};
  add_bytes_columns(table, "memory");
  add_bytes_columns(table, "short by");
  table.columns.push_back({"run there"});
  for (size_t i = 0; i < found.smaller.size(); ++i) {
    const FitAnswer& nearest = *found.of_smaller[i].nearest;
    std::vector<std::string> cells = {found.smaller[i].name, nearest.set.in_words()};
    add_bytes_cells(cells, found.smaller[i].total_bytes);
    add_bytes_cells(cells, nearest.need - capacity_of(found.smaller[i]));
    cells.push_back(to_string(nearest.verdict.record->status));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

// Nothing fits: by how much the smallest set does not, and what it holds at its peak.
Table nearest_table(const FitFound& found) {
  const FitAnswer& nearest = *found.result.nearest;
  Table table{.title = title_of(found), .columns = {{"at the peak"}}};
  add_bytes_columns(table, "memory");
  const auto add = [&](const std::string& name, int64_t bytes) {
    std::vector<std::string> cells = {name};
    add_bytes_cells(cells, bytes);
    table.rows.push_back(std::move(cells));
  };
  RunSpec plain = nearest.set.spec;
  plain.alloc_conf.clear();
  if (has_predicted_peak(plain)) {
    std::vector<std::pair<std::string, int64_t>> groups;
    for (const Row& row : predicted_peak(plain).rows) {
      const auto known = std::find_if(groups.begin(), groups.end(),
                                      [&](const auto& group) { return group.first == row.group; });
      if (known == groups.end()) {
        groups.emplace_back(row.group, row.bytes);
      } else {
        known->second += row.bytes;
      }
    }
    for (const auto& [name, bytes] : groups) add(name, bytes);
  }
  add("CUDA context", found.card.context_bytes);
  add("all", nearest.need + found.card.context_bytes);
  add("the card", found.card.total_bytes);
  const int64_t excess = nearest.need - capacity_of(found.card);
  table.notes.push_back("NOTHING FITS: " + nearest.set.in_words() + " needs least" +
                        (nearest.value > 0 ? ", at " + std::string(name_of(found.question.open)) +
                                                 " " + std::to_string(nearest.value)
                                           : "") +
                        ", and the card's memory is short by " + format_bytes(excess) + ".");
  table.notes.push_back("Run on the virtual card: " + nearest.verdict.reason);
  return table;
}

}  // namespace

std::string title_of(const FitFound& found) {
  const RunSpec& base = found.question.base;
  const std::string on = base.model_size + " on " + found.card.name;
  const std::string batch = ", batch " + std::to_string(base.batch_size);
  const std::string context = ", context " + std::to_string(base.context_length);
  switch (found.question.open) {
    case Open::kBatch:
      return "Largest batch: " + on + context;
    case Open::kContext:
      return "Largest context: " + on + batch;
    case Open::kNothing:
      break;
  }
  return "Cheapest sets that fit: " + on + batch + context;
}

std::vector<Table> fit_report(const FitFound& found) {
  std::vector<Table> tables;
  if (found.result.nearest) {
    tables.push_back(nearest_table(found));
  } else {
    tables.push_back(answers_table(found));
  }
  add_notes(found, tables.front());
  if (!found.smaller.empty()) tables.push_back(smaller_table(found));
  if (!found.result.answers.empty()) tables.push_back(commands_table(found));
  return tables;
}

}  // namespace headroom
