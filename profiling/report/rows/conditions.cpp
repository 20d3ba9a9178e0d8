#include "profiling/report/rows/conditions.h"

#include <sstream>

#include "text/hash.h"

namespace headroom {
namespace {

std::string text_of(const nlohmann::json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

// "name=NVIDIA H200;total_bytes=1": each figure is one fact.
void add_card(const std::string& description, Facts& facts) {
  std::istringstream stream(description);
  for (std::string item; std::getline(stream, item, ';');) {
    const size_t equals = item.find('=');
    if (equals != std::string::npos)
      facts["card " + item.substr(0, equals)] = item.substr(equals + 1);
  }
}

// The machine counts if it decides times: never on a virtual card.
void add_machine(const Record& record, Facts& facts) {
  if (is_virtual(record.spec)) return;
  for (const char* name : {"cpu", "devices"}) {
    const auto found = record.environment.find(name);
    if (found != record.environment.end()) facts[name] = text_of(*found);
  }
}

uint64_t hash_of_conditions(const Record& record) {
  if (!says_conditions(record)) return ConditionHashes::kUnknown;
  uint64_t hash = 1;
  for (const auto& [name, value] : conditions_of(record)) {
    mix(hash, name);
    mix(hash, value);
  }
  return hash == ConditionHashes::kUnknown ? 1 : hash;
}

}  // namespace

bool says_conditions(const Record& record) {
  if (!record.environment.is_object()) return false;
  const auto conditions = record.environment.find("conditions");
  return conditions != record.environment.end() && conditions->is_object();
}

Facts conditions_of(const Record& record) {
  if (!says_conditions(record)) return {};
  Facts facts;
  for (const auto& [name, value] : record.environment.at("conditions").items()) {
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

uint64_t hash_of_settings(const Record& record) {
  uint64_t hash = 0;
  for (const Field& field : fields()) {
    if (field.changes_result) mix(hash, field.hash(record.spec));
  }
  return hash;
}

uint64_t ConditionHashes::of(const Record& record) {
  Known& known = known_[&record.environment.get()];
  std::optional<uint64_t>& hash = is_virtual(record.spec) ? known.on_virtual : known.on_real;
  if (!hash) hash = hash_of_conditions(record);
  return *hash;
}

}  // namespace headroom
