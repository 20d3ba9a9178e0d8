#include "cli/flags/setup_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "cli/flags/flag_example.h"
#include "files/whole_file.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr const char* kFlag = "--setup";
constexpr const char* kName = "setup";
constexpr int64_t kMostBytes = int64_t{1} << 20;

// With two values of one key the parser would silently keep the last.
json parse_once(const std::string& text, const std::string& path) {
  std::set<std::string> seen;
  const auto look = [&](int depth, json::parse_event_t event, json& value) {
    if (event != json::parse_event_t::key || depth != 1) return true;
    if (!seen.insert(with_dashes(value.get<std::string>())).second) {
      throw UsageError(kFlag, path,
                       "has the key '" + value.get<std::string>() + "' twice; allowed: once",
                       "--setup ppo.json");
    }
    return true;
  };
  return json::parse(text, look, /*allow_exceptions=*/false);
}

json object_in(const std::string& path) {
  json document = parse_once(read_whole_file(path, kMostBytes), path);
  if (!document.is_object()) {
    throw UsageError(kFlag, path,
                     R"(is no JSON object; allowed: settings by the names of the flags, )"
                     R"({"model_size": "7b"})",
                     "--setup ppo.json");
  }
  return document;
}

const Flag& flag_of(const std::string& key, const std::string& path,
                    const std::vector<Flag>& flags) {
  const std::string name = with_dashes(key);
  const auto found = std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) {
    return flag.name == name || flag.old_name == name;
  });
  if (found == flags.end() || name == kName) {
    throw UsageError(kFlag, path,
                     "has the key '" + key +
                         "', which is no setting; allowed: the names of the "
                         "flags, --help lists them",
                     "--setup ppo.json");
  }
  return *found;
}

std::string text_of(const std::string& key, const json& value, const std::string& path) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean() || value.is_number()) return value.dump();
  throw UsageError(kFlag, path,
                   "has no single value for '" + key + "'; allowed: a text, a number, true, false",
                   "--setup ppo.json");
}

}  // namespace

Flag setup_flag() {
  return {kName, "FILE", "JSON file of settings, named like the flags; typed flags override it",
          "Other", FileUse::kRead};
}

Arguments with_setup_file(Arguments arguments, const std::vector<Flag>& flags) {
  if (!arguments.has(kName)) return arguments;
  const std::string path = arguments.get(kName);
  const json object = object_in(path);
  for (const auto& [key, value] : object.items()) {
    const Flag& flag = flag_of(key, path, flags);
    const std::string text = text_of(key, value, path);
    const bool absent = flag.value.empty() && text == "false";  // a switch that is off
    if (absent || arguments.has(flag.name)) continue;
    check_not_empty(flag, text);
    arguments.values[flag.name] = text;
  }
  return arguments;
}

}  // namespace headroom
