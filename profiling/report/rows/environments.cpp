#include "profiling/report/rows/environments.h"

#include <optional>
#include <set>
#include <sstream>

#include "text/words.h"

namespace headroom {
namespace {

using Facts = std::map<std::string, std::string>;

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// "name=NVIDIA H200;total_bytes=1": each figure a fact of its own.
void add_card(const std::string& description, Facts& facts) {
  std::istringstream stream(description);
  for (std::string item; std::getline(stream, item, ';');) {
    const size_t equals = item.find('=');
    if (equals != std::string::npos)
      facts["card " + item.substr(0, equals)] = item.substr(equals + 1);
  }
}

// The machine counts where it decides times. On a virtual card nothing of it does.
void add_machine(const Record& record, Facts& facts) {
  if (is_virtual(record.spec)) return;
  for (const char* name : {"cpu", "devices"}) {
    const auto found = record.environment.find(name);
    if (found != record.environment.end()) facts[name] = text_of(*found);
  }
}

// nullopt: it does not say.
std::optional<Facts> facts_of(const Record& record) {
  if (!record.environment.is_object()) return std::nullopt;
  const auto conditions = record.environment.find("conditions");
  if (conditions == record.environment.end() || !conditions->is_object()) return std::nullopt;
  Facts facts;
  for (const auto& [name, value] : conditions->items()) {
    if (name == "card") {
      add_card(text_of(value), facts);
    } else if (value.is_object()) {
      for (const auto& [key, inner] : value.items()) facts[key] = text_of(inner);
    } else {
      facts[name] = text_of(value);
    }
  }
  add_machine(record, facts);
  return facts;
}

// The facts that are not the same in both.
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

bool same_environment(const Record& a, const Record& b) {
  const std::optional<Facts> facts_a = facts_of(a);
  const std::optional<Facts> facts_b = facts_of(b);
  return !facts_a || !facts_b || *facts_a == *facts_b;
}

EnvironmentLabels environment_labels(const RecordPointers& shown) {
  std::set<std::string> names;
  std::map<std::string, Facts> first_of_settings;
  for (const Record* record : shown) {
    const auto facts = facts_of(*record);
    if (!facts) continue;
    const auto [first, is_new] = first_of_settings.try_emplace(settings_key(*record), *facts);
    if (!is_new) add_differences(first->second, *facts, names);
  }
  // A hash is for people only where nothing else tells.
  if (names.size() > 1) names.erase("key_before");
  EnvironmentLabels labels;
  if (names.empty()) return labels;
  for (const Record* record : shown) {
    labels[record] = label(facts_of(*record).value_or(Facts{}), names);
  }
  return labels;
}

}  // namespace headroom
