#include "profiling/compare/cells.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "profiling/report/rows/cells.h"
#include "profiling/report/rows/select.h"
#include "text/words.h"

namespace headroom {
namespace {

struct ResultsOfCell {
  std::string key;
  std::vector<const Result*> results;
};

std::vector<const Field*> matched_fields(const std::vector<std::string>& across) {
  std::vector<const Field*> matched;
  for (const Field& field : fields()) {
    if (field.changes_result && !is_one_of(field.name, across)) matched.push_back(&field);
  }
  return matched;
}

std::vector<ResultsOfCell> cells_of(const std::vector<Result>& results,
                                    const std::vector<const Field*>& fields) {
  std::vector<ResultsOfCell> cells;
  std::map<std::string, size_t> places;
  for (const Result& result : results) {
    const std::string key = result.has_spec ? group_key(result.record, fields) : result.name;
    const auto [place, is_new] = places.emplace(key, cells.size());
    if (is_new) cells.push_back({.key = key});
    cells[place->second].results.push_back(&result);
  }
  return cells;
}

std::vector<std::string> differing_settings(const Result& a, const Result& b) {
  std::vector<std::string> settings;
  if (!a.has_spec || !b.has_spec) return settings;
  for (const Field& field : fields()) {
    if (!field.changes_result || field.same(a.record.spec, b.record.spec)) continue;
    settings.push_back(field.name + " " + setting_text(a.record, field) + " -> " +
                       setting_text(b.record, field));
  }
  return settings;
}

CellPair pair_of(const ResultsOfCell& a, const ResultsOfCell& b) {
  const Result& newest_a = *a.results.back();
  const Result& newest_b = *b.results.back();
  std::vector<std::string> settings = differing_settings(newest_a, newest_b);
  std::string name = newest_a.name;
  if (!settings.empty()) {
    name += " (" + join(settings) + ")";
  } else if (newest_b.name != name) {
    name += " (B: " + newest_b.name + ")";
  }
  return {.name = std::move(name), .a = a.results, .b = b.results, .settings = std::move(settings)};
}

// Differ between two runs of one cell on one machine: the time, the process, the clocks (they have
// their own rules), the cells before it, the kernel's count of memory after a reboot.
bool is_of_one_run(std::string_view path) {
  for (const char* begin : {"/cell/", "/time_utc", "/key", "/nvml/", "/identity/",
                            "/conditions/key_before", "/conditions/files/", "/host_memory_total"}) {
    if (path.starts_with(begin)) return path != "/nvml/driver_version";
  }
  return false;
}

// "allocator variables, LD_PRELOAD" of "/allocator_variables/LD_PRELOAD".
std::string fact_name(std::string path) {
  path.erase(0, 1);
  for (size_t at = 0; (at = path.find('/', at)) != std::string::npos; at += 2) {
    path.replace(at, 1, ", ");
  }
  return path;
}

std::map<std::string, std::string> facts_of(const Result& result) {
  std::map<std::string, std::string> facts;
  const nlohmann::json& environment = result.record.environment;
  if (!environment.is_object() || environment.empty()) return facts;
  const nlohmann::json flat = environment.flatten();
  for (const auto& [path, value] : flat.items()) {
    if (is_of_one_run(path)) continue;
    facts[fact_name(path)] = value.is_string() ? value.get<std::string>() : value.dump();
  }
  return facts;
}

}  // namespace

MatchedCells match_cells(const std::vector<Result>& a, const std::vector<Result>& b,
                         const std::vector<std::string>& across) {
  const std::vector<const Field*> fields = matched_fields(across);
  const std::vector<ResultsOfCell> cells_a = cells_of(a, fields);
  const std::vector<ResultsOfCell> cells_b = cells_of(b, fields);
  MatchedCells matched;
  if (cells_a.size() == 1 && cells_b.size() == 1) {
    matched.pairs.push_back(pair_of(cells_a.front(), cells_b.front()));
    return matched;
  }
  std::map<std::string, const ResultsOfCell*> by_key;
  for (const ResultsOfCell& cell : cells_b) by_key[cell.key] = &cell;
  for (const ResultsOfCell& cell : cells_a) {
    const auto other = by_key.find(cell.key);
    if (other == by_key.end()) {
      matched.missing.push_back(cell.results.back()->name);
    } else {
      matched.pairs.push_back(pair_of(cell, *other->second));
      by_key.erase(other);
    }
  }
  for (const ResultsOfCell& cell : cells_b) {
    if (by_key.contains(cell.key)) matched.added.push_back(cell.results.back()->name);
  }
  return matched;
}

std::vector<EnvironmentFact> differing_environments(const std::vector<CellPair>& pairs) {
  std::vector<EnvironmentFact> differing;
  for (const CellPair& pair : pairs) {
    const auto a = facts_of(*pair.a.back());
    const auto b = facts_of(*pair.b.back());
    std::set<std::string> names;
    for (const auto& facts : {a, b}) {
      for (const auto& [name, value] : facts) names.insert(name);
    }
    for (const std::string& name : names) {
      const auto text = [&](const auto& facts) {
        const auto fact = facts.find(name);
        return fact == facts.end() ? std::string() : fact->second;
      };
      const EnvironmentFact fact{name, text(a), text(b)};
      const bool known = std::find(differing.begin(), differing.end(), fact) != differing.end();
      if (fact.a != fact.b && !known) differing.push_back(fact);
    }
  }
  return differing;
}

}  // namespace headroom
