#include "text/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace headroom {
namespace {

struct Unit {
  std::string_view suffix;
  int64_t bytes;
};

constexpr int64_t kKibi = 1024;
constexpr int64_t kKilo = 1000;
constexpr std::array<Unit, 9> kUnits = {{{"TiB", kKibi* kKibi* kKibi* kKibi},
                                         {"GiB", kKibi* kKibi* kKibi},
                                         {"MiB", kKibi* kKibi},
                                         {"KiB", kKibi},
                                         {"TB", kKilo* kKilo* kKilo* kKilo},
                                         {"GB", kKilo* kKilo* kKilo},
                                         {"MB", kKilo* kKilo},
                                         {"kB", kKilo},
                                         {"B", 1}}};

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

// No error if the whole text is one number of type T.
template <typename T>
std::errc parse_whole(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{}) return error;
  return end == text.data() + text.size() ? std::errc{} : std::errc::invalid_argument;
}

constexpr std::string_view kNoBytes = "is not below 2^63 bytes";
constexpr std::string_view kExample = "example: ";

std::string size_example(std::string_view flag) { return std::string(flag) + " 24GiB"; }

// In bytes, whole or not.
double parse_size(std::string_view flag, std::string_view text) {
  std::string_view digits = text;
  int64_t scale = 1;
  for (const Unit& unit : kUnits) {
    if (text.size() > unit.suffix.size() && text.ends_with(unit.suffix)) {
      digits.remove_suffix(unit.suffix.size());
      scale = unit.bytes;
      break;
    }
  }
  double value = 0;
  const bool is_number = !digits.empty() && parse_whole(digits, value) == std::errc{};
  const bool is_part_of_a_byte = scale == 1 && value != std::floor(value);
  if (!is_number || !std::isfinite(value) || value < 0 || is_part_of_a_byte) {
    throw UsageError(flag, text,
                     "is not a size; allowed: a number and B, kB, MB, GB, TB, KiB, "
                     "MiB, GiB or TiB, rounded to the byte",
                     size_example(flag));
  }
  const double bytes = value * static_cast<double>(scale);
  if (bytes > 9e18) throw UsageError(flag, text, kNoBytes, size_example(flag));
  return bytes;
}

}  // namespace

UsageError::UsageError(std::string_view flag, std::string_view value, std::string_view problem,
                       std::string_view example)
    : std::invalid_argument(std::string(flag) + ": " + in_quotes(value) + " " +
                            std::string(problem) +
                            (example.empty() ? "" : " (example: " + std::string(example) + ")")) {}

std::string UsageError::example() const {
  const std::string line = what();
  const size_t at = line.rfind(kExample);
  if (at == std::string::npos) return "";
  const size_t begin = at + kExample.size();
  const bool in_parentheses = at > 0 && line[at - 1] == '(';
  return line.substr(begin, line.size() - begin - (in_parentheses ? 1 : 0));
}

UsageError UsageError::with_example(std::string_view other) const {
  const std::string line = what();
  const size_t at = line.rfind(kExample);
  if (at == std::string::npos) return *this;
  const bool in_parentheses = at > 0 && line[at - 1] == '(';
  if (other.empty()) return UsageError(line.substr(0, at - (in_parentheses ? 2 : 0)));
  return UsageError(line.substr(0, at) + std::string(kExample) + std::string(other) +
                    (in_parentheses ? ")" : ""));
}

int64_t parse_integer(std::string_view flag, std::string_view text, int64_t minimum,
                      int64_t maximum) {
  int64_t value = 0;
  const std::errc error = parse_whole(text, value);
  if (error == std::errc{} && value >= minimum && value <= maximum) return value;
  const std::string range =
      "allowed: " + std::to_string(minimum) + " to " + std::to_string(maximum);
  const std::string example =
      std::string(flag) + " " + std::to_string(std::clamp<int64_t>(4, minimum, maximum));
  if (error == std::errc::invalid_argument) {
    throw UsageError(flag, text, "is not a whole number; " + range, example);
  }
  throw UsageError(flag, text, "is out of range; " + range, example);
}

double parse_number(std::string_view flag, std::string_view text, double minimum, double maximum) {
  double value = 0;
  const std::errc error = parse_whole(text, value);
  // NaN fails both comparisons and is refused.
  if (error == std::errc{} && value >= minimum && value <= maximum) return value;
  std::array<char, 96> range{};
  std::snprintf(range.data(), range.size(), "allowed: %.15g to %.15g", minimum, maximum);
  const std::string example = std::string(flag) + " 0.5";
  if (error == std::errc::invalid_argument) {
    throw UsageError(flag, text, std::string("is not a number; ") + range.data(), example);
  }
  throw UsageError(flag, text, std::string("is out of range; ") + range.data(), example);
}

int64_t parse_bytes(std::string_view flag, std::string_view text) {
  return std::llround(parse_size(flag, text));
}

std::vector<std::string> parse_list(std::string_view flag, std::string_view text,
                                    std::string_view example) {
  std::vector<std::string> elements;
  size_t begin = 0;
  while (true) {
    const size_t end = std::min(text.find(',', begin), text.size());
    elements.emplace_back(text.substr(begin, end - begin));
    if (elements.back().empty()) {
      throw UsageError(flag, text,
                       "has an empty element " + std::to_string(elements.size()) +
                           "; allowed: values separated by single commas",
                       example);
    }
    if (end == text.size()) return elements;
    begin = end + 1;
  }
}

std::string format_bytes(int64_t bytes) {
  constexpr std::array<std::string_view, 4> kNames = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes > -kKibi && bytes < kKibi) return std::to_string(bytes) + " B";
  auto value = static_cast<double>(bytes);
  size_t name = 0;
  for (value /= kKibi; std::abs(value) >= kKibi && name + 1 < kNames.size(); ++name) value /= kKibi;
  return number_text(value, 3).append(" ").append(kNames.at(name));
}

std::string exact_bytes(int64_t bytes) {
  std::string_view unit;
  for (const std::string_view larger : {"KiB", "MiB", "GiB", "TiB"}) {
    if (bytes == 0 || bytes % kKibi != 0) break;
    bytes /= kKibi;
    unit = larger;
  }
  return std::to_string(bytes).append(unit);
}

std::string shortest_text(double value) {
  std::array<char, 64> text{};
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value).ptr;
  return {text.data(), end};
}

std::string number_text(double value, int decimals) {
  std::array<char, 512> text{};  // a double has up to 309 digits before the point
  const auto end = std::to_chars(text.data(), text.data() + text.size(), value,
                                 std::chars_format::fixed, decimals)
                       .ptr;
  return {text.data(), end};
}

}  // namespace headroom
