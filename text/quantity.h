// Numbers as people write them: exact integers, "24GiB" is not "24GB". No torch here.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// An unusable value from the user. what() is one complete line: flag, value, allowed values, an
// example. The program prints it and exits 2.
class UsageError : public std::invalid_argument {
 public:
  using std::invalid_argument::invalid_argument;
  UsageError(std::string_view flag, std::string_view value, std::string_view problem,
             std::string_view example);

  // The text after "example: " at the end of the line; "" if there is none.
  std::string example() const;
  // The same line with another example, or without one for "". A line without an example is
  // unchanged.
  UsageError with_example(std::string_view other) const;
};

// The whole text must be a decimal integer in [minimum, maximum]: "512x", "1e3", "" and
// "99999999999999999999" throw UsageError.
int64_t parse_integer(std::string_view flag, std::string_view text, int64_t minimum,
                      int64_t maximum);

// The whole text must be a finite decimal number in [minimum, maximum]; "0.5x", "nan" and "1,5"
// throw.
double parse_number(std::string_view flag, std::string_view text, double minimum, double maximum);

// Bytes: a whole number, or a decimal number with a unit. KiB, MiB, GiB, TiB are powers of 1024;
// kB, MB, GB, TB are powers of 1000; B is bytes. Rounded to the byte, because programs print sizes
// with two decimals ("14.56GiB").
int64_t parse_bytes(std::string_view flag, std::string_view text);

// Splits "128,256,512"; an empty element throws with its position. example: of a valid value, as
// for UsageError.
std::vector<std::string> parse_list(std::string_view flag, std::string_view text,
                                    std::string_view example);

// 1024-based with the unit: "39.750 GiB", "5.000 MiB", "512 B".
std::string format_bytes(int64_t bytes);

// "64KiB", "1000": exact, in the largest unit that divides it; parse_bytes reads it.
std::string exact_bytes(int64_t bytes);

// The shortest text that parses to the same number.
std::string shortest_text(double value);

// "0.500": like printf's %.*f, in any locale.
std::string number_text(double value, int decimals);

}  // namespace headroom
