#include "cli/flags/setup_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "files/whole_file.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr const char* kFlag = "--setup";
constexpr const char* kName = "setup";
constexpr int64_t kMostBytes = int64_t{1} << 20;

json object_in(const std::string& path) {
  json document = json::parse(read_whole_file(path, kMostBytes), nullptr,
                              /*allow_exceptions=*/false);
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
  const auto found =
      std::find_if(flags.begin(), flags.end(), [&](const Flag& flag) { return flag.name == name; });
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
  return {kName, "FILE", "settings as JSON, by the names of the flags; what is typed wins", "Other",
          FileUse::kRead};
}

Arguments with_setup_file(Arguments arguments, const std::vector<Flag>& flags) {
  if (!arguments.has(kName)) return arguments;
  const std::string path = arguments.get(kName);
  const json object = object_in(path);
  for (const auto& [key, value] : object.items()) {
    const Flag& flag = flag_of(key, path, flags);
    const std::string text = text_of(key, value, path);
    const bool absent = flag.value.empty() && text == "false";  // a switch that is not there
    if (!absent && !arguments.has(flag.name)) arguments.values[flag.name] = text;
  }
  return arguments;
}

}  // namespace headroom
