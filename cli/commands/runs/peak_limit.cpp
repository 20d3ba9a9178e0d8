#include "cli/commands/runs/peak_limit.h"

#include <unistd.h>

#include <cstdlib>
#include <exception>

#include "cli/exit_code.h"
#include "cli/log.h"
#include "files/directory.h"
#include "profiling/snapshot/analysis/top.h"
#include "profiling/snapshot/read.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// "" where no file can be made: then the line has no code.
std::string temporary_snapshot() {
  for (const std::string& folder : temporary_folders()) {
    std::string path = folder + "/headroom-peak.XXXXXX";
    const int file = mkstemp(path.data());
    if (file < 0) continue;
    close(file);
    return path;
  }
  return "";
}

// "; the most at model/attention.cpp:31 softmax: 4.000 MiB"; "" without a snapshot that opens.
std::string line_in_words(const std::string& snapshot) {
  if (snapshot.empty()) return "";
  try {
    const LineAtPeak fullest = fullest_line(read_snapshot(snapshot));
    if (fullest.line.empty()) return "";
    return "; the most of the recorded step at " + fullest.line + ": " +
           format_bytes(fullest.bytes);
  } catch (const std::exception& error) {
    log_warning(std::string("no line of code: ") + error.what());
    return "";
  }
}

}  // namespace

Flag PeakLimit::flag() {
  return {.name = "max-peak",
          .value = "SIZE",
          .help =
              "exit 1 if the allocated memory was larger at its peak, with the line of code that\n"
              "held the most: a test of memory",
          .group = "Other",
          .example = "--max-peak 12GiB"};
}

PeakLimit::PeakLimit(const Arguments& arguments, RunSpec& spec) : snapshot_(spec.snapshot) {
  if (!arguments.has("max-peak")) return;
  most_ = parse_bytes("--max-peak", arguments.get("max-peak"));
  const bool has_stacks = spec.record_steps > 0 && spec.stacks != Stacks::kNone;
  if (!spec.snapshot.empty() || !has_stacks || spec.mesh.ranks() > 1) return;
  temporary_ = temporary_snapshot();
  snapshot_ = spec.snapshot = temporary_;
}

PeakLimit::~PeakLimit() {
  if (!temporary_.empty()) unlink(temporary_.c_str());
}

void PeakLimit::take_back(Record& record) const {
  if (!temporary_.empty()) record.spec.snapshot.clear();
}

std::optional<int> PeakLimit::exit_code(const Record& record) const {
  if (!most_ || record.status != Status::kOk) return std::nullopt;
  if (!record.peak) {
    log_error("--max-peak: the run has no peak of memory");
    return kExitEnvironment;
  }
  const int64_t peak = record.peak->allocated;
  if (peak <= *most_) return std::nullopt;
  log_error("--max-peak: " + format_bytes(peak) + " were allocated at the peak, " +
            format_bytes(peak - *most_) + " more than " + format_bytes(*most_) +
            line_in_words(snapshot_));
  return kExitOverBudget;
}

}  // namespace headroom
