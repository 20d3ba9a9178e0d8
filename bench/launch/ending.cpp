#include "bench/launch/ending.h"

#include <sstream>
#include <stdexcept>
#include <string_view>

#include "train/settings/device/address_limit.h"

namespace headroom {
namespace {

// The loader's message of a libtorch of another version.
constexpr const char* kOtherVersion = "symbol lookup error";

}  // namespace

void StderrRelay::hear(const std::string& line) {
  constexpr std::string_view kWhat = "what():";
  const size_t start = line.find_first_not_of(' ');
  if (start != std::string::npos && line.compare(start, kWhat.size(), kWhat) == 0) {
    const size_t text = line.find_first_not_of(' ', start + kWhat.size());
    uncaught_ = text == std::string::npos ? "" : line.substr(text);
  }
  if (on_line_) on_line_(line);
}

std::string ending(const Outcome& outcome) {
  if (outcome.signal != 0) return "killed by signal " + signal_name(outcome.signal);
  if (outcome.exit_code != 0) return "exit code " + std::to_string(outcome.exit_code);
  return "";
}

std::string ending(const Outcome& outcome, const StderrRelay& talk) {
  const std::string end = ending(outcome);
  return outcome.signal == 0 || talk.uncaught().empty() ? end : end + ": " + talk.uncaught();
}

std::string with_last_line(std::string reason, const Outcome& outcome) {
  if (!outcome.last_error_line.empty()) reason += ": " + outcome.last_error_line;
  return reason;
}

bool lacks_a_library(const Outcome& outcome) {
  constexpr int kLoaderExit = 127;
  return outcome.exit_code == kLoaderExit &&
         (outcome.last_error_line.find("error while loading shared libraries") !=
              std::string::npos ||
          outcome.last_error_line.find(kOtherVersion) != std::string::npos);
}

std::string missing_library(const std::string& program, const Outcome& outcome) {
  const std::string line = outcome.last_error_line.substr(outcome.last_error_line.find(": ") + 2);
  const std::string limit = address_limit_in_words();
  if (line.find(kOtherVersion) != std::string::npos) {
    return program + " cannot start: " + line +
           "; this libtorch is not the version that headroom was built with: set "
           "HEADROOM_TORCH_DIR to that one, or build again with this one";
  }
  const bool too_large = line.find("failed to map segment") != std::string::npos;
  return program + " cannot start: " + line + "; " +
         (too_large && !limit.empty()
              ? limit + ", and libtorch alone takes more"
              : "libtorch has moved since headroom was built: run scripts/setup.sh here "
                "and build again, move it back, or set HEADROOM_TORCH_DIR to its folder");
}

std::string seconds_text(double seconds) {
  std::ostringstream text;
  text << seconds << " s";
  return text.str();
}

std::string only_line(const std::string& output) {
  std::istringstream stream(output);
  std::string line;
  std::string found;
  while (std::getline(stream, line)) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    if (!found.empty()) throw std::invalid_argument("more than one line");
    found = line;
  }
  if (found.empty()) throw std::invalid_argument("nothing");
  return found;
}

}  // namespace headroom
