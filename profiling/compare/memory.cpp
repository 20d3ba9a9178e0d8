#include "profiling/compare/memory.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "profiling/report/rows/cells.h"
#include "profiling/theory/rows.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;
using Numbers = std::map<std::pair<std::string, std::string>, int64_t>;  // by part and name

constexpr const char* kTheoryPart = "tensor of theory";

// The parts in the order of their rows: first the peak, then its causes. Others follow.
struct PartOfRecord {
  const char* key;
  const char* part;
};
constexpr PartOfRecord kParts[] = {{"peak", "peak"},
                                   {"phases", "phase"},
                                   {"categories_at_peak_bytes", "category at the peak"},
                                   {"category_peak_bytes", "category, at its own peak"},
                                   {"recorded_peak", "peak of the recorded step"},
                                   {"predicted", "theory"}};

const std::set<std::string>& not_memory() {
  static const std::set<std::string> kKeys = {
      "schema_version", "name",   "spec",  "environment",  "status",          "reason",
      "step_ms",        "losses", "notes", "phase_order",  "phase_runs",      "peak_phase",
      "watched",        "space",  "ranks", "trace_events", "trace_truncated", "out_of_memory"};
  return kKeys;
}

std::string without_unit(std::string name) {
  constexpr std::string_view kUnit = "_bytes";
  if (name.ends_with(kUnit)) name.resize(name.size() - kUnit.size());
  return readable(name);
}

// "backward, allocated" of "/backward/allocated_bytes".
std::string name_of(const std::string& path) {
  std::vector<std::string> words;
  for (size_t begin = 0; begin < path.size();) {
    const size_t end = std::min(path.find('/', begin + 1), path.size());
    words.push_back(without_unit(path.substr(begin + 1, end - begin - 1)));
    begin = end;
  }
  return join(words);
}

std::string part_of(const std::string& key) {
  for (const PartOfRecord& each : kParts) {
    if (key == each.key) return each.part;
  }
  return without_unit(key);
}

void add_numbers(const std::string& key, const json& value, Numbers& values) {
  constexpr std::string_view kPeak = "peak_";
  if (value.is_number_integer() && key.starts_with(kPeak)) {
    values[{"peak", without_unit(key.substr(kPeak.size()))}] = value;
  } else if (value.is_number_integer()) {
    values[{"step", without_unit(key)}] = value;
  } else if (value.is_structured() && !value.empty()) {
    const json flat = value.flatten();
    for (const auto& [path, number] : flat.items()) {
      if (number.is_number_integer()) values[{part_of(key), name_of(path)}] = number;
    }
  }
}

Numbers numbers_of(const Record& record) {
  Numbers values;
  const json object = to_json(record);
  for (const auto& [key, value] : object.items()) {
    if (!not_memory().contains(key)) add_numbers(key, value, values);
  }
  for (const RankFigures& rank : record.ranks) {
    const std::string name = "rank " + std::to_string(rank.rank);
    values[{"rank", name + ", allocated"}] = rank.peak.allocated;
    values[{"rank", name + ", reserved"}] = rank.peak.reserved;
  }
  return values;
}

void add_tensors(const RunSpec& spec, Numbers& values) {
  try {
    for (const Row& row : theory_rows(spec)) {
      values[{kTheoryPart, row.group + ": " + row.tensor}] += row.model_bytes();
    }
  } catch (const std::invalid_argument&) {
    // theory does not know this run
  }
}

size_t rank_of(const std::string& part) {
  const auto known = std::find_if(std::begin(kParts), std::end(kParts),
                                  [&](const PartOfRecord& each) { return part == each.part; });
  return static_cast<size_t>(known - std::begin(kParts)) + (part == kTheoryPart ? 1 : 0);
}

// Allocated bytes are the program's; what was reserved follows from them.
int rank_of_quantity(const std::string& name) {
  if (name.ends_with("reserved")) return 2;
  return name.ends_with("requested") ? 1 : 0;
}

std::vector<DifferingFigure> differing(const Numbers& a, const Numbers& b) {
  std::set<std::pair<std::string, std::string>> places;
  for (const Numbers* values : {&a, &b}) {
    for (const auto& [place, value] : *values) places.insert(place);
  }
  const auto value_at = [](const Numbers& values, const auto& place) {
    const auto found = values.find(place);
    return found == values.end() ? std::nullopt : std::optional(found->second);
  };
  std::vector<DifferingFigure> figures;
  for (const auto& place : places) {
    const DifferingFigure figure{place.first, place.second, value_at(a, place), value_at(b, place)};
    if (figure.a.value_or(0) != figure.b.value_or(0)) figures.push_back(figure);
  }
  const auto change = [](const DifferingFigure& figure) {
    return std::abs(figure.b.value_or(0) - figure.a.value_or(0));
  };
  std::stable_sort(figures.begin(), figures.end(),
                   [&](const DifferingFigure& one, const DifferingFigure& other) {
                     const auto key = [&](const DifferingFigure& figure) {
                       return std::tuple(rank_of(figure.part), figure.part,
                                         rank_of_quantity(figure.name), -change(figure));
                     };
                     return key(one) < key(other);
                   });
  return figures;
}

// "A: 3 results with peaks from 10 B to 12 B". "" if all agree.
std::string spread_note(const char* side, const std::vector<const Result*>& results) {
  std::set<int64_t> peaks;
  for (const Result* result : results) {
    if (const auto peak = peak_allocated(result->record)) peaks.insert(*peak);
  }
  if (peaks.size() < 2) return "";
  return std::string(side) + ": the peaks of its " + std::to_string(results.size()) +
         " results are from " + std::to_string(*peaks.begin()) + " to " +
         std::to_string(*peaks.rbegin()) + " B; the newest is compared";
}

std::optional<int64_t> peak_reserved(const Record& record) {
  return peak_allocated(record) ? std::optional(record.peak->reserved) : std::nullopt;
}

}  // namespace

MemoryDifference compare_memory(const CellPair& pair) {
  const Record& a = pair.a.back()->record;
  const Record& b = pair.b.back()->record;
  MemoryDifference difference{.peak_a = peak_allocated(a),
                              .peak_b = peak_allocated(b),
                              .reserved_a = peak_reserved(a),
                              .reserved_b = peak_reserved(b),
                              .status_a = to_string(a.status),
                              .status_b = to_string(b.status)};
  Numbers values_a = numbers_of(a);
  Numbers values_b = numbers_of(b);
  if (!pair.settings.empty()) {
    add_tensors(a.spec, values_a);
    add_tensors(b.spec, values_b);
  }
  difference.figures = differing(values_a, values_b);
  for (const std::string& note : {spread_note("A", pair.a), spread_note("B", pair.b)}) {
    if (!note.empty()) difference.notes.push_back(note);
  }
  return difference;
}

}  // namespace headroom
