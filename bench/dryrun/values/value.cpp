#include "bench/dryrun/values/value.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "files/mapped_file.h"
#include "files/whole_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kFlag = "--value";
constexpr const char* kValueExample = "--value train.py:42=1";
constexpr int64_t kMost = 1000000000;

[[noreturn]] void refuse(const std::string& text, const std::string& problem) {
  throw UsageError(kFlag, text, problem, kValueExample);
}

bool is_integer(std::string_view text) {
  if (text.starts_with("-")) text.remove_prefix(1);
  return !text.empty() && text.size() <= 18 &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

std::string number_of(const std::string& whole, const std::string& word) {
  if (word == "true") return "1";
  if (word == "false") return "0";
  for (const char* named : {"nan", "inf", "-inf"}) {
    if (word == named) return word;
  }
  if (is_integer(word)) return word;
  constexpr double kLargest = std::numeric_limits<double>::max();
  try {
    parse_number(kFlag, word, -kLargest, kLargest);
  } catch (const UsageError&) {
    refuse(whole, "is not FILE:LINE=NUMBER: '" + word +
                      "' is no number; allowed: numbers, true, false, nan, inf, -inf, and "
                      "several of them (0*99,1: 99 zeros, then 1; (0,1)*: 0 and 1 in turn)");
  }
  // Makes it a float in Python.
  return word.find_first_of(".eE") == std::string::npos ? word + ".0" : word;
}

Value::Number parse_number_of(const std::string& whole, const std::string& word) {
  const size_t star = word.find('*');
  Value::Number number{.text = number_of(whole, word.substr(0, star))};
  if (star != std::string::npos) {
    const std::string count = word.substr(star + 1);
    if (!is_integer(count) || std::stoll(count) < 1 || std::stoll(count) > kMost) {
      refuse(whole, "is not NUMBER*COUNT: '" + count + "' is no count");
    }
    number.count = std::stoll(count);
  }
  return number;
}

}  // namespace

Value parse_value(const std::string& text) {
  Value value{.text = text};
  const size_t equals = text.rfind('=');
  const size_t colon = equals == std::string::npos ? equals : text.rfind(':', equals);
  if (colon == std::string::npos || colon == 0) refuse(text, "is not FILE:LINE=NUMBER");
  value.file = text.substr(0, colon);
  const std::string line = text.substr(colon + 1, equals - colon - 1);
  if (!is_integer(line) || std::stoll(line) < 1 || std::stoll(line) > kMost) {
    refuse(text, "is not FILE:LINE=NUMBER: '" + line + "' is no line");
  }
  value.line = std::stoll(line);
  std::string_view rest = std::string_view(text).substr(equals + 1);
  value.repeats = rest.starts_with("(") && rest.ends_with(")*");
  if (value.repeats) rest = rest.substr(1, rest.size() - 3);
  for (bool is_last = false; !is_last;) {
    const size_t comma = rest.find(',');
    is_last = comma == std::string_view::npos;
    value.numbers.push_back(parse_number_of(text, std::string(rest.substr(0, comma))));
    if (!is_last) rest.remove_prefix(comma + 1);
  }
  return value;
}

std::vector<Value> read_values(const std::string& path) {
  constexpr int64_t kMostAnswers = 1 << 20;  // bytes
  constexpr const char* kFileFlag = "--value-file";
  constexpr const char* kFileExample = "--value-file answers.txt";
  std::string text;
  try {
    text = read_whole_file(path, kMostAnswers);
  } catch (const ReadError& error) {
    throw UsageError(kFileFlag, path, "cannot be read: " + error.reason(), kFileExample);
  }
  std::vector<Value> values;
  std::istringstream lines(text);
  std::string line;
  for (int64_t number = 1; std::getline(lines, line); ++number) {
    const size_t begin = line.find_first_not_of(" \t\r");
    if (begin == std::string::npos || line[begin] == '#') continue;
    const size_t end = line.find_last_not_of(" \t\r") + 1;
    try {
      values.push_back(parse_value(line.substr(begin, end - begin)));
    } catch (const UsageError& error) {
      throw UsageError(kFileFlag, path + ":" + std::to_string(number),
                       std::string("has no valid answer: ") + error.with_example("").what(),
                       kFileExample);
    }
  }
  return values;
}

std::string values_json(const std::vector<Value>& values) {
  nlohmann::json all = nlohmann::json::array();
  for (const Value& value : values) {
    nlohmann::json numbers = nlohmann::json::array();
    for (const Value::Number& number : value.numbers) {
      numbers.push_back({number.text, number.count});
    }
    all.push_back({{"text", value.text},
                   {"file", value.file},
                   {"line", value.line},
                   {"repeats", value.repeats},
                   {"numbers", std::move(numbers)}});
  }
  return all.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
}

}  // namespace headroom
