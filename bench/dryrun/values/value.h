// Answers to a program's reads from the card. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// --value 'FILE:LINE=NUMBER,...': the values read at that line, in turn; then the last number
// repeats, or the whole list: 'FILE:LINE=(NUMBER,...)*'.
struct Value {
  struct Number {
    std::string text;   // an integer, or an argument of Python's float()
    int64_t count = 1;  // consecutive repetitions: "0*99,1"
  };
  std::string text;  // as typed
  std::string file;  // the end of a path
  int64_t line = 0;
  std::vector<Number> numbers;
  bool repeats = false;
};

// Throws UsageError, one line.
Value parse_value(const std::string& text);

// The answers in a file (--value-file), one per line; empty lines and those that begin with # are
// skipped. Throws UsageError, one line, with the line's number.
std::vector<Value> read_values(const std::string& path);

// The format read by the Python hook (virtual_gpu/python_hook/headroom_answers.py).
std::string values_json(const std::vector<Value>& values);

}  // namespace headroom
