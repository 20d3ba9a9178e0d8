#include "plan/fit/report.h"

#include <algorithm>

#include "plan/fit/capacity.h"
#include "plan/fit/command_line.h"
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

// "batch 13: oom, short by 1.2 GiB".
std::string beyond_in_words(const FitFound& found, const FitAnswer& answer) {
  if (!answer.beyond) return "nothing is";
  const Verdict& verdict = answer.beyond->verdict;
  std::string words = answer.beyond->what + ": ";
  if (verdict.of_host) {
    words += "host memory";
    return verdict.host_excess > 0 ? words + ", short by " + format_bytes(verdict.host_excess)
                                   : words + " refused";
  }
  const int64_t excess = answer.beyond->need - capacity_of(found.card);
  words += to_string(verdict.record->status);
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
  add_bytes_columns(table, "host, pinned");
  add_bytes_columns(table, "host, pageable");
  const bool has_disk = !found.question.disk.empty();
  if (has_disk) add_bytes_columns(table, "disk");
  table.columns.push_back({"one step beyond"});
  for (size_t i = 0; i < found.result.answers.size(); ++i) {
    const FitAnswer& answer = found.result.answers[i];
    std::vector<std::string> cells = {std::to_string(i + 1), answer.set.in_words()};
    if (of_value) cells.push_back(std::to_string(answer.value));
    add_bytes_cells(cells, measured_peak(answer));
    add_bytes_cells(cells, margin_of(found, answer));
    cells.push_back(percent(margin_of(found, answer), found.card.total_bytes));
    const HostNeed host = predicted_host_need(answer.set.spec);
    add_bytes_cells(cells, host.pinned);
    add_bytes_cells(cells, host.pageable);
    if (has_disk) add_bytes_cells(cells, predicted_disk_bytes(answer.set.spec));
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
    table.notes.push_back(margin_in_words(found.card) + ".");
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
    table.rows.push_back({std::to_string(i + 1), profile_command(found.result.answers[i].set.spec,
                                                                 found.question.host_limit)});
  }
  return table;
}

// What is short where nothing fits, and by how much.
struct Shortage {
  const char* side = "card";
  int64_t bytes = 0;  // not above 0: what is free is in pieces
};

Shortage shortage_of(const Card& card, const FitAnswer& nearest) {
  if (nearest.verdict.of_host) return {"host", nearest.verdict.host_excess};
  return {"card", nearest.need - capacity_of(card)};
}

// The cards on which nothing fits.
Table smaller_table(const FitFound& found) {
  Table table{.title = "Smaller cards", .columns = {{"card"}, {"nearest set"}}};
  add_bytes_columns(table, "memory");
  table.columns.push_back({"short is the"});
  add_bytes_columns(table, "by");
  table.columns.push_back({"run there"});
  for (size_t i = 0; i < found.smaller.size(); ++i) {
    const FitAnswer& nearest = *found.of_smaller[i].nearest;
    const Shortage shortage = shortage_of(found.smaller[i], nearest);
    std::vector<std::string> cells = {found.smaller[i].name, nearest.set.in_words()};
    add_bytes_cells(cells, found.smaller[i].total_bytes);
    cells.emplace_back(shortage.side);
    add_bytes_cells(cells, shortage.bytes);
    cells.push_back(to_string(nearest.verdict.record->status));
    table.rows.push_back(std::move(cells));
  }
  return table;
}

using Part = std::pair<std::string, int64_t>;

// What a set holds on the card at its peak, by groups.
std::vector<Part> parts_of_peak(const FitFound& found, const FitAnswer& nearest) {
  std::vector<Part> parts;
  RunSpec plain = nearest.set.spec;
  plain.alloc_conf.clear();
  if (has_predicted_peak(plain)) {
    for (const Row& row : predicted_peak(plain).rows) {
      const auto known = std::find_if(parts.begin(), parts.end(),
                                      [&](const Part& part) { return part.first == row.group; });
      if (known == parts.end()) {
        parts.emplace_back(row.group, row.bytes);
      } else {
        known->second += row.bytes;
      }
    }
  }
  parts.emplace_back("CUDA context", found.card.context_bytes);
  parts.emplace_back("all", nearest.need + found.card.context_bytes);
  parts.emplace_back("the card", found.card.total_bytes);
  return parts;
}

// What it keeps on the host.
std::vector<Part> parts_of_host(const FitFound& found, const RunSpec& spec) {
  const HostNeed need = predicted_host_need(spec);
  return {{"pinned memory", need.pinned},
          {"pageable memory", need.pageable},
          {"all", need.bytes()},
          {"--host-memory", *found.question.host_limit}};
}

// Nothing fits: by how much the nearest set does not, and what it holds where that is.
Table nearest_table(const FitFound& found) {
  const FitAnswer& nearest = *found.result.nearest;
  const bool is_host = nearest.verdict.of_host;
  Table table{.title = title_of(found),
              .columns = {{is_host ? "on the host" : "on the card, at the peak"}}};
  add_bytes_columns(table, "memory");
  const auto parts =
      is_host ? parts_of_host(found, nearest.set.spec) : parts_of_peak(found, nearest);
  for (const auto& [name, bytes] : parts) {
    std::vector<std::string> cells = {name};
    add_bytes_cells(cells, bytes);
    table.rows.push_back(std::move(cells));
  }
  table.notes.push_back("NOTHING FITS: " + nothing_fits(found) + ".");
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

std::string nothing_fits(const FitFound& found) {
  const FitAnswer& nearest = *found.result.nearest;
  const Shortage shortage = shortage_of(found.card, nearest);
  std::string set = nearest.set.names.empty() ? "the run as it is" : nearest.set.in_words();
  if (nearest.value > 0) {
    set += ", at " + std::string(name_of(found.question.open)) + " " +
           std::to_string(nearest.value) + ",";
  }
  if (nearest.verdict.of_host && shortage.bytes <= 0) {
    return "with " + set + " host memory is refused: " + nearest.verdict.reason;
  }
  if (nearest.verdict.of_host) {
    return "with " + set + " the card would have room, and host memory is short by " +
           format_bytes(shortage.bytes) + ": " +
           format_bytes(predicted_host_need(nearest.set.spec).bytes()) + " needed, --host-memory " +
           format_bytes(*found.question.host_limit);
  }
  if (shortage.bytes <= 0) {
    return set + " needs least, and what the card has free is in pieces: " + nearest.verdict.reason;
  }
  return set + " needs least, and the card's memory is short by " + format_bytes(shortage.bytes);
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
