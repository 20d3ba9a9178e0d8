#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "profiling/compare/comparison.h"
#include "profiling/report/rows/cells.h"
#include "profiling/report/snapshots/divergence.h"

namespace headroom {
namespace {

Table environment_table(const Comparison& comparison) {
  Table table{.title = "The environments of A and B differ",
              .columns = {{.name = "fact"}, {.name = "A"}, {.name = "B"}}};
  for (const EnvironmentFact& fact : comparison.environment) {
    table.rows.push_back({fact.name, fact.a, fact.b});
  }
  if (comparison.times_refused) {
    table.notes.emplace_back(
        "Times are not compared between environments that differ; --anyway compares them.");
  }
  return table;
}

std::string size_or_status(std::optional<int64_t> bytes, const std::string& status) {
  if (bytes) return format_bytes(*bytes);
  return status == "ok" ? kNotAvailable : status;
}

std::string memory_in_words(const MemoryDifference& memory) {
  if (memory.is_equal()) return "equal";
  if (memory.status_a != memory.status_b) return memory.status_a + " -> " + memory.status_b;
  if (memory.peak_a == memory.peak_b) return "differs, not at the peak";
  return signed_bytes(memory.peak_b.value_or(0) - memory.peak_a.value_or(0));
}

void add_time_cells(const std::optional<TimeDifference>& times, std::vector<std::string>& row) {
  if (!times) {
    row.insert(row.end(), 6, kNotAvailable);
    return;
  }
  const LogRatio& ratio = times->judged.ratio;
  const bool has_interval = ratio.count > 1;
  row.push_back(number_text(times->a_ms, 3));
  row.push_back(number_text(times->b_ms, 3));
  row.push_back(ratio.count == 0 ? kNotAvailable : percent_text(ratio.mean));
  row.push_back(!has_interval ? kNotAvailable
                              : percent_text(ratio.low) + " to " + percent_text(ratio.high));
  row.push_back(number_text(100 * std::expm1(times->judged.floor), 1) + " %");
  row.push_back(to_string(times->judged.verdict));
}

// For programs: plain numbers.
constexpr const char* kExactTimes[] = {"ratio", "ratio_low", "ratio_high", "floor_ratio", "chance"};

void add_exact_cells(const CellComparison& cell, bool with_times, std::vector<std::string>& row) {
  for (const std::optional<int64_t>& peak : {cell.memory.peak_a, cell.memory.peak_b}) {
    row.push_back(peak ? std::to_string(*peak) : kNotAvailable);
  }
  if (!with_times) return;
  if (!cell.times || cell.times->judged.ratio.count < 2) {
    row.insert(row.end(), std::size(kExactTimes), kNotAvailable);
    return;
  }
  const Judgement& judged = cell.times->judged;
  for (const double logarithm :
       {judged.ratio.mean, judged.ratio.low, judged.ratio.high, judged.floor}) {
    row.push_back(shortest_text(std::exp(logarithm)));
  }
  row.push_back(shortest_text(judged.ratio.chance));
}

void add_exact_columns(bool with_times, Table& table) {
  const auto add = [&](const char* name) {
    table.columns.push_back({.name = name, .number = true, .exact = true});
  };
  add("a_peak_bytes");
  add("b_peak_bytes");
  if (!with_times) return;
  for (const char* name : kExactTimes) add(name);
}

bool has_times(const Comparison& comparison) {
  return std::any_of(comparison.cells.begin(), comparison.cells.end(),
                     [](const CellComparison& cell) { return cell.times.has_value(); });
}

void add_cell_notes(const CellComparison& cell, const DecidingCommand& decides, Table& table) {
  const auto add = [&](const std::string& text) {
    table.notes.push_back(cell.pair.name + ": " + text + ".");
  };
  for (const std::string& note : cell.memory.notes) add(note);
  if (!cell.times) return;
  const Judgement& judged = cell.times->judged;
  if (judged.verdict == TimeVerdict::kUndecided) {
    add("UNDECIDED: " + judged.reason);
    if (judged.needed) {
      table.notes.push_back("To decide: " + decides(cell.pair, *judged.needed));
    } else {
      table.notes.emplace_back("A quieter machine would decide it rather than more processes.");
    }
  }
  for (const std::string& note : cell.times->notes) add(note);
}

Table cells_table(const Comparison& comparison, const DecidingCommand& decides) {
  const auto equal = std::count_if(comparison.cells.begin(), comparison.cells.end(),
                                   [](const auto& cell) { return cell.memory.is_equal(); });
  Table table{
      .title = "A beside B: memory is equal in " + std::to_string(equal) + " of " +
               std::to_string(comparison.cells.size()) + " cells",
      .columns = {
          {.name = "cell"}, {.name = "peak of A"}, {.name = "peak of B"}, {.name = "memory"}}};
  const bool with_times = has_times(comparison);
  if (with_times) {
    for (const char* name : {"A ms", "B ms"}) table.columns.push_back({name, true});
    for (const char* name : {"B / A", "interval of 95 %", "floor", "time"}) {
      table.columns.push_back({name});
    }
  }
  add_exact_columns(with_times, table);
  for (const CellComparison& cell : comparison.cells) {
    const MemoryDifference& memory = cell.memory;
    std::vector<std::string> row = {cell.pair.name, size_or_status(memory.peak_a, memory.status_a),
                                    size_or_status(memory.peak_b, memory.status_b),
                                    memory_in_words(memory)};
    if (with_times) add_time_cells(cell.times, row);
    add_exact_cells(cell, with_times, row);
    table.rows.push_back(std::move(row));
    add_cell_notes(cell, decides, table);
  }
  if (with_times) {
    table.notes.emplace_back(
        "floor: 1 %, or the difference that A has from A, if that is larger. SAME: the interval is "
        "within the floor. FASTER, SLOWER: it excludes 0 % and the difference is above the floor.");
  }
  table.notes.emplace_back(kUnitsNote);
  return table;
}

// Counts have no unit.
std::string signed_size(const DifferingFigure& figure, int64_t change) {
  const bool is_count = figure.name.find("tensors") != std::string::npos;
  return is_count ? kNotAvailable : signed_bytes(change);
}

Table figures_table(const CellComparison& cell) {
  Table table{.title = "Figures that differ: " + cell.pair.name,
              .columns = {{.name = "part"},
                          {.name = "figure"},
                          {.name = "change"},
                          {.name = "A", .number = true},
                          {.name = "B", .number = true},
                          {.name = "B - A", .number = true}},
              .keys = 2};
  for (const DifferingFigure& figure : cell.memory.figures) {
    const int64_t change = figure.b.value_or(0) - figure.a.value_or(0);
    const auto text = [](std::optional<int64_t> value) {
      return value ? std::to_string(*value) : std::string(kNotAvailable);
    };
    table.rows.push_back({figure.part, figure.name, signed_size(figure, change), text(figure.a),
                          text(figure.b), std::to_string(change)});
  }
  return table;
}

std::vector<Table> tables_of_cell(const CellComparison& cell, size_t limit) {
  std::vector<Table> tables;
  if (!cell.memory.figures.empty()) tables.push_back(figures_table(cell));
  if (!cell.lines) return tables;
  for (Table& table : divergence_tables(*cell.lines, limit)) {
    table.title += ": " + cell.pair.name;
    tables.push_back(std::move(table));
  }
  return tables;
}

Table unmatched_table(const Comparison& comparison) {
  Table table{.title = "Cells without a partner", .columns = {{.name = "cell"}, {.name = "is"}}};
  for (const std::string& cell : comparison.missing) table.rows.push_back({cell, "missing in B"});
  for (const std::string& cell : comparison.added) table.rows.push_back({cell, "new in B"});
  return table;
}

}  // namespace

std::vector<Table> comparison_tables(const Comparison& comparison, const DecidingCommand& decides,
                                     size_t limit) {
  std::vector<Table> tables;
  if (!comparison.environment.empty()) tables.push_back(environment_table(comparison));
  if (!comparison.cells.empty()) tables.push_back(cells_table(comparison, decides));
  for (const CellComparison& cell : comparison.cells) {
    for (Table& table : tables_of_cell(cell, limit)) tables.push_back(std::move(table));
  }
  if (Table table = unmatched_table(comparison); !table.rows.empty()) tables.push_back(table);
  return tables;
}

}  // namespace headroom
