#include "bench/google/google_flags.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <functional>
#include <regex>
#include <set>
#include <sstream>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using Check = std::function<void(const std::string& flag, const std::string& value)>;

Check one_of(std::vector<std::string> words) {
  return [words = std::move(words)](const std::string& flag, const std::string& value) {
    check_choice(flag, value, words, flag + "=" + words.front());
  };
}

Check integer(int64_t minimum) {
  return [minimum](const std::string& flag, const std::string& value) {
    parse_integer(flag, value, minimum, 1000000);
  };
}

void seconds(const std::string& flag, const std::string& value) {
  parse_number(flag, value, 0, 1e6);
}

void text(const std::string& flag, const std::string& value) {
  if (value.empty()) throw UsageError(flag, value, "is empty", flag + "=TEXT");
}

// The library takes any pair-shaped text and ends the program on others.
void pairs(const std::string& flag, const std::string& value) {
  for (const std::string& pair : parse_list(flag, value)) {
    const size_t equals = pair.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw UsageError(flag, pair, "is not KEY=VALUE", flag + "=machine=lab1");
    }
  }
}

struct GoogleFlag {
  std::string name;
  bool is_switch;  // alone means true
  Check check;
};

const std::vector<GoogleFlag>& known_flags() {
  const Check truth = one_of({"true", "false", "yes", "no", "on", "off", "1", "0"});
  const Check format = one_of({"console", "json", "csv"});
  static const std::vector<GoogleFlag> kFlags = {
      {"--benchmark_list_tests", true, truth},
      {"--benchmark_filter", false, [](const auto&, const auto&) {}},  // see count_matches()
      {"--benchmark_min_time", false, seconds},
      {"--benchmark_min_warmup_time", false, seconds},
      {"--benchmark_repetitions", false, integer(1)},
      {"--benchmark_enable_random_interleaving", true, truth},
      {"--benchmark_report_aggregates_only", true, truth},
      {"--benchmark_display_aggregates_only", true, truth},
      {"--benchmark_format", false, format},
      {"--benchmark_out", false, text},
      {"--benchmark_out_format", false, format},
      {"--benchmark_color", true,
       one_of({"auto", "true", "false", "yes", "no", "on", "off", "1", "0"})},
      {"--benchmark_counters_tabular", true, truth},
      {"--benchmark_context", false, pairs},
      {"--benchmark_time_unit", false, one_of({"ns", "us", "ms", "s"})},
      {"--v", false, integer(0)},
  };
  return kFlags;
}

bool is_true(const std::string& value) {
  return value == "true" || value == "yes" || value == "on" || value == "1";
}

const GoogleFlag& find_google_flag(const std::string& name) {
  for (const GoogleFlag& flag : known_flags()) {
    if (flag.name == name) return flag;
  }
  refuse_option(name, google_flag_names());
}

// "--benchmark_out" is $BENCHMARK_OUT.
std::string variable_of(const std::string& flag) {
  std::string variable = flag.substr(2);
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return variable;
}

// What this program itself must know.
void note(const std::string& flag, const std::string& value, GoogleFlags& result) {
  if (flag == "--benchmark_list_tests") result.list_tests = is_true(value);
  if (flag == "--benchmark_min_time") result.has_min_time = true;
  if (flag == "--benchmark_out") result.out = value;
  if (flag == "--benchmark_format") result.format = value;
  if (flag == "--benchmark_out_format") result.out_format = value;
}

std::vector<std::string> parts_of(const std::string& name) {
  std::vector<std::string> parts;
  std::istringstream stream(name);
  for (std::string part; std::getline(stream, part, '/');) parts.push_back(part);
  return parts;
}

// `filter` with each part of it that no name has put right where a name has a near one.
std::string near_filter(const std::string& filter, const std::vector<std::string>& names) {
  std::set<std::string> known;
  for (const std::string& name : names) {
    for (const std::string& part : parts_of(name)) known.insert(part);
  }
  std::string result;
  for (const std::string& part : parts_of(filter)) {
    const std::string near =
        known.count(part) > 0 ? part : nearest_name(part, {known.begin(), known.end()});
    if (!result.empty()) result += '/';
    result += near.empty() ? part : near;
  }
  return result == filter ? "" : result;
}

size_t matches(std::string filter, const std::vector<std::string>& names) {
  const bool excludes = filter.starts_with("-");
  if (excludes) filter.erase(0, 1);
  if (filter.empty() || filter == "all") filter = ".";
  const std::regex expression(filter,
                              std::regex_constants::extended | std::regex_constants::nosubs);
  return static_cast<size_t>(std::count_if(
      names.begin(), names.end(),
      [&](const std::string& name) { return std::regex_search(name, expression) != excludes; }));
}

}  // namespace

bool is_google_flag(const std::string& argument) {
  return argument.starts_with("--benchmark") || argument == "--v" || argument.starts_with("--v=");
}

GoogleFlags google_flags(const std::vector<std::string>& arguments) {
  GoogleFlags result;
  for (const GoogleFlag& flag : known_flags()) {
    if (flag.name == "--v") continue;  // $V is everybody's
    const std::string variable = variable_of(flag.name);
    const char* value = std::getenv(variable.c_str());
    if (value == nullptr || *value == '\0') continue;
    flag.check("$" + variable, value);
    note(flag.name, value, result);
  }
  for (const std::string& argument : arguments) {
    const size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const GoogleFlag& flag = find_google_flag(name);
    if (equals == std::string::npos && !flag.is_switch) {
      throw UsageError(name, "", "needs its value behind an equals sign", name + "=VALUE");
    }
    const std::string value = equals == std::string::npos ? "true" : argument.substr(equals + 1);
    flag.check(name, value);
    note(name, value, result);
    if (name != "--benchmark_out") result.arguments.push_back(argument);
  }
  return result;
}

std::vector<std::string> google_flag_names() {
  std::vector<std::string> names;
  for (const GoogleFlag& flag : known_flags()) names.push_back(flag.name);
  return names;
}

size_t count_matches(const std::string& filter, const std::vector<std::string>& names) {
  size_t count = 0;
  try {
    count = matches(filter, names);
  } catch (const std::regex_error&) {
    throw UsageError("--benchmark_filter", filter, "is no regular expression",
                     "--benchmark_filter=small/ctx128");
  }
  if (count > 0) return count;
  throw UsageError("--benchmark_filter", filter,
                   "matches none of the " + std::to_string(names.size()) + " benchmarks" +
                       did_you_mean(near_filter(filter, names)) +
                       " (--benchmark_list_tests lists them)",
                   "--benchmark_filter=" + names.front().substr(0, names.front().rfind("/iter")));
}

}  // namespace headroom
