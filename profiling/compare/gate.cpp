#include "profiling/compare/gate.h"

#include <cmath>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kGateExample = "--fail-on memory,time=5%";

double parse_share(const std::string& flag, const std::string& text) {
  if (!text.ends_with('%')) {
    throw UsageError(flag, "time=" + text, "is no share; allowed: a percentage", kGateExample);
  }
  return parse_number(flag, text.substr(0, text.size() - 1), 0, 1000) / 100;
}

// "; the most at train.py:12 step: +512 B", from the largest growth.
std::string code_in_words(const SnapshotDivergence& divergence) {
  for (const LineDifference& line : divergence.lines) {
    if (line.change() <= 0) continue;
    const std::string name = line.line.empty() ? "(no stack recorded)" : line.line;
    return "; the most at " + name + ": " + signed_bytes(line.change());
  }
  return "";
}

// Without snapshots: the part of the Record that grew most, except the peak itself.
std::string part_in_words(const MemoryDifference& memory) {
  for (const DifferingFigure& figure : memory.figures) {
    const int64_t change = figure.b.value_or(0) - figure.a.value_or(0);
    if (figure.part == "peak" || change <= 0) continue;
    return "; the most in " + figure.part + " " + figure.name + ": " + signed_bytes(change);
  }
  return "";
}

std::string memory_failure(const CellComparison& cell, int64_t most) {
  const MemoryDifference& memory = cell.memory;
  if (memory.status_a == "ok" && memory.status_b != "ok") {
    return cell.pair.name + ": ended " + memory.status_b + " in B, ok in A";
  }
  const auto growth = [](std::optional<int64_t> a, std::optional<int64_t> b) {
    return a && b ? *b - *a : 0;
  };
  const int64_t allocated = growth(memory.peak_a, memory.peak_b);
  const int64_t reserved = growth(memory.reserved_a, memory.reserved_b);
  if (allocated <= most && reserved <= most) return "";
  const bool is_allocated = allocated > most;
  return cell.pair.name + ": the " + (is_allocated ? "allocated" : "reserved") + " peak grew by " +
         signed_bytes(is_allocated ? allocated : reserved) +
         (cell.lines ? code_in_words(*cell.lines) : part_in_words(memory));
}

std::string time_failure(const CellComparison& cell, double most) {
  if (!cell.times || cell.times->judged.verdict != TimeVerdict::kSlower) return "";
  const LogRatio& ratio = cell.times->judged.ratio;
  if (std::expm1(ratio.mean) <= most) return "";
  return cell.pair.name + ": the time of a step changed by " + percent_text(ratio.mean) +
         ", interval " + percent_text(ratio.low) + " to " + percent_text(ratio.high);
}

}  // namespace

Gate parse_gate(const std::string& flag, const std::string& text) {
  Gate gate;
  for (const std::string& item : parse_list(flag, text, kGateExample)) {
    const size_t equals = item.find('=');
    const std::string name = item.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : item.substr(equals + 1);
    if (name == "memory") {
      gate.memory = equals == std::string::npos ? 0 : parse_bytes(flag, value);
    } else if (name == "time") {
      gate.time = parse_share(flag, value);
    } else {
      throw UsageError(flag, item, "is unknown; allowed: memory, memory=SIZE, time=N%",
                       kGateExample);
    }
  }
  return gate;
}

std::string failure_of(const Comparison& comparison, const Gate& gate) {
  if (gate.memory && !comparison.missing.empty()) {
    return comparison.missing.front() + ": missing in B";
  }
  for (const CellComparison& cell : comparison.cells) {
    std::string failure;
    if (gate.memory) failure = memory_failure(cell, *gate.memory);
    if (gate.time && failure.empty()) failure = time_failure(cell, *gate.time);
    if (!failure.empty()) return failure;
  }
  return "";
}

std::string failure_of(const SnapshotDivergence& divergence, const Gate& gate) {
  if (!gate.memory) return "";
  const int64_t live = divergence.b.peak_bytes - divergence.a.peak_bytes;
  const int64_t reserved = divergence.diff.b.reserved_bytes - divergence.diff.a.reserved_bytes;
  if (live <= *gate.memory && reserved <= *gate.memory) return "";
  return std::string("the peak of ") + (live > *gate.memory ? "live" : "reserved") +
         " bytes grew by " + signed_bytes(live > *gate.memory ? live : reserved) +
         code_in_words(divergence);
}

}  // namespace headroom
