// Answers for what a program reads back from the card. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

// --value 'FILE:LINE=NUMBER,...': what is read at that line, in turn; the last number stays, or the
// list begins anew: 'FILE:LINE=(NUMBER,...)*'.
struct Value {
  struct Number {
    std::string text;   // an integer, or a number as Python's float() takes it
    int64_t count = 1;  // how often in a row: "0*99,1"
  };
  std::string text;  // as typed
  std::string file;  // the end of a path
  int64_t line = 0;
  std::vector<Number> numbers;
  bool repeats = false;
};

// Throws UsageError, one line.
Value parse_value(const std::string& text);

// The answers of a file (--value-file), one a line; empty lines and those that begin with # are
// none. Throws UsageError, one line, with the line's number.
std::vector<Value> read_values(const std::string& path);

// As the Python hook reads them (virtual_gpu/python_hook/headroom_answers.py).
std::string values_json(const std::vector<Value>& values);

}  // namespace headroom
