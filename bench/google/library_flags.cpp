#include "bench/google/library_flags.h"

#include <benchmark/benchmark.h>
#include <unistd.h>

#include <cctype>
#include <cstdlib>
#include <iostream>
#include <sstream>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

struct Refused {};  // thrown where the library would print its usage and exit

// Captures the library's stderr during its lifetime.
class ErrorText {
 public:
  ErrorText() : before_(std::cerr.rdbuf(text_.rdbuf())) {}
  ~ErrorText() { std::cerr.rdbuf(before_); }
  ErrorText(const ErrorText&) = delete;
  ErrorText& operator=(const ErrorText&) = delete;

  std::string line() const { return text_.str().substr(0, text_.str().find('\n')); }

 private:
  std::ostringstream text_;
  std::streambuf* before_;
};

// Throws UsageError with the library's message or, without one, with `otherwise`.
void give(std::vector<char*> argv, const std::string& otherwise) {
  const ErrorText said;
  int argc = static_cast<int>(argv.size());
  argv.push_back(nullptr);
  try {
    benchmark::Initialize(&argc, argv.data(), [] { throw Refused(); });
    if (argc == 1) return;  // all consumed
  } catch (const Refused&) {
  }
  throw UsageError(said.line().empty() ? otherwise : said.line());
}

std::string library_environment() {
  std::vector<std::string> variables;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (std::string(*variable).starts_with("BENCHMARK_")) variables.emplace_back(*variable);
  }
  return join(variables);
}

// The library accepts any number, and ends the program on some.
void check_numbers(const std::vector<std::string>& arguments) {
  constexpr double kMost = 1e6;
  if (const auto count = library_value(arguments, "--benchmark_repetitions")) {
    parse_integer("--benchmark_repetitions", *count, 1, static_cast<int64_t>(kMost));
  }
  for (const char* seconds : {"--benchmark_min_time", "--benchmark_min_warmup_time"}) {
    if (const auto value = library_value(arguments, seconds)) {
      parse_number(seconds, *value, 0, kMost);
    }
  }
}

}  // namespace

bool is_library_flag(const std::string& argument) {
  return argument.starts_with("--benchmark") || argument == "--v" || argument.starts_with("--v=");
}

std::optional<std::string> library_value(const std::vector<std::string>& arguments,
                                         const std::string& flag) {
  for (auto argument = arguments.rbegin(); argument != arguments.rend(); ++argument) {
    if (argument->starts_with(flag + "=")) return argument->substr(flag.size() + 1);
  }
  std::string variable = flag.substr(2);
  for (char& c : variable) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  const char* value = std::getenv(variable.c_str());
  if (value == nullptr || *value == '\0') return std::nullopt;
  return value;
}

void initialize_library(char* program, const std::vector<std::string>& arguments) {
  check_numbers(arguments);
  benchmark::SetDefaultTimeUnit(benchmark::kMillisecond);
  give({program}, "Google Benchmark refuses the value of one of these environment variables: " +
                      library_environment());
  for (std::string argument : arguments) {
    give({program, argument.data()}, argument +
                                         ": Google Benchmark does not have this flag or refuses "
                                         "its value; --help lists the flags");
  }
}

}  // namespace headroom
