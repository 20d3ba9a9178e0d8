#include "profiling/report/rows/environments.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "profiling/report/rows/conditions.h"
#include "text/words.h"

namespace headroom {
namespace {

// The facts that differ between the two.
void add_differences(const Facts& a, const Facts& b, std::set<std::string>& names) {
  const auto add = [&](const Facts& from, const Facts& to) {
    for (const auto& [name, value] : from) {
      const auto other = to.find(name);
      if (other == to.end() || other->second != value) names.insert(name);
    }
  };
  add(a, b);
  add(b, a);
}

std::string label(const Facts& facts, const std::set<std::string>& names) {
  std::vector<std::string> words;
  for (const std::string& name : names) {
    const auto found = facts.find(name);
    if (found != facts.end()) {
      words.push_back(name + "=" + found->second);
    } else {
      words.push_back(name == "cells_before" ? "a process of its own" : name + " unset");
    }
  }
  return join(words);
}

}  // namespace

EnvironmentLabels environment_labels(const RecordPointers& shown) {
  std::set<std::string> names;
  // By settings, in the order of the rows.
  std::vector<std::pair<uint64_t, const Record*>> rows;
  rows.reserve(shown.size());
  for (const Record* record : shown) {
    if (says_conditions(*record)) rows.emplace_back(hash_of_settings(*record), record);
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  size_t first = 0;
  for (size_t i = 1; i < rows.size(); ++i) {
    if (rows[i].first != rows[first].first) {
      first = i;
    } else {
      add_differences(conditions_of(*rows[first].second), conditions_of(*rows[i].second), names);
    }
  }
  // A hash helps people only if nothing else differs.
  if (names.size() > 1) names.erase("key_before");
  EnvironmentLabels labels;
  if (names.empty()) return labels;
  for (const Record* record : shown) {
    labels[record] = label(conditions_of(*record), names);
  }
  return labels;
}

}  // namespace headroom
