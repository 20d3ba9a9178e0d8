#include "cli/commands/runs/quiet_run.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <stdexcept>

#include "bench/dryrun/report/report.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// Redirects a program's output to a file during its lifetime: stdout is for our table.
class CaughtOutput {
 public:
  CaughtOutput() : file_(std::tmpfile()) {
    if (file_ == nullptr) throw std::runtime_error("no temporary file for the program's output");
    const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    for (const int descriptor : {0, 1, 2}) {
      saved_[descriptor] = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
      dup2(descriptor == 0 ? nothing : fileno(file_), descriptor);
    }
    if (nothing >= 0) close(nothing);
  }
  ~CaughtOutput() {
    give_back();
    std::fclose(file_);
  }
  CaughtOutput(const CaughtOutput&) = delete;
  CaughtOutput& operator=(const CaughtOutput&) = delete;

  void give_back() {
    for (const int descriptor : {0, 1, 2}) {
      if (saved_[descriptor] < 0) continue;
      dup2(saved_[descriptor], descriptor);
      close(saved_[descriptor]);
      saved_[descriptor] = -1;
    }
  }

  // At most the last 16 MiB.
  std::string text() const {
    constexpr long kMost = 16L * 1024 * 1024;
    std::fseek(file_, 0, SEEK_END);
    const long size = std::ftell(file_);
    std::fseek(file_, std::max(0L, size - kMost), SEEK_SET);
    std::string text(static_cast<size_t>(std::min(size, kMost)), '\0');
    text.resize(std::fread(text.data(), 1, text.size(), file_));
    return text;
  }

 private:
  std::FILE* file_;
  int saved_[3] = {-1, -1, -1};
};

// The last one that is not blank.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of(" \t\r\n");
  if (end == std::string::npos) return "";
  const size_t begin = text.rfind('\n', end);
  return text.substr(begin == std::string::npos ? 0 : begin + 1, end - begin);
}

// The highest peak over all cards and processes.
std::optional<int64_t> peak_of(const nlohmann::ordered_json& document) {
  std::optional<int64_t> peak;
  for (const auto& process : document["processes"]) {
    for (const auto& device : process["devices"]) {
      peak = std::max(peak.value_or(0), peaks_of(document, device).reserved.value_or(0));
    }
  }
  return peak;
}

// The first refused allocation, if any.
std::optional<std::string> refusal_of(const nlohmann::ordered_json& document) {
  for (const auto& process : document["processes"]) {
    for (const auto& device : process["devices"]) {
      for (const auto& refused : device["out_of_memory"]) {
        std::string words =
            "out of memory, " + format_bytes(refused.value("wanted_bytes", int64_t{0})) + " wanted";
        const std::string where = refused.value("where", "");
        return where.empty() ? words : words + " at " + where;
      }
    }
  }
  return std::nullopt;
}

}  // namespace

ProgramRun judged_run(const DryRunOutcome& outcome, const nlohmann::ordered_json& document,
                      const std::string& output) {
  ProgramRun run;
  run.peak = peak_of(document);
  if (outcome.asked_by != 0) return run;
  if (outcome.exit_code == 0) {
    run.fits = Fits::kYes;
  } else if (const auto refusal = refusal_of(document)) {
    run.fits = Fits::kNo;
    run.reason = *refusal;
  } else {
    run.reason = outcome.signal != 0 ? "ended by signal " + std::to_string(outcome.signal)
                                     : "exit code " + std::to_string(outcome.exit_code);
    if (const std::string line = last_line(output); !line.empty()) run.reason += ": " + line;
  }
  return run;
}

QuietRun run_quietly(const DryRun& request, const HeldSignals& signals) {
  CaughtOutput output;
  QuietRun quiet{.run = {}, .outcome = run_dry(request, signals), .document = {}, .output = {}};
  output.give_back();
  quiet.output = output.text();
  quiet.document = dryrun_document(request, quiet.outcome);
  quiet.run = judged_run(quiet.outcome, quiet.document, quiet.output);
  return quiet;
}

}  // namespace headroom
