#include "cli/flags/flag_example.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "text/quantity.h"

namespace headroom {
namespace {

struct TypicalValue {
  std::string_view of;
  std::string_view value;
};

// By the value's placeholder in --help.
constexpr auto kByKind = std::to_array<TypicalValue>({
    {"N", "1"},
    {"X", "0.9"},
    {"SIZE", "24GiB"},
    {"SECONDS", "60"},
    {"DIR", "/tmp"},
    {"FILE,...", "records.jsonl"},
    {"FILE.svg", "timeline.svg"},
});

// Words and files, by the name of the flag.
constexpr auto kByName = std::to_array<TypicalValue>({
    {"alloc-conf", "expandable_segments:True"},
    {"allow", "recompute"},
    {"attention", "sdpa"},
    {"card", "h200"},
    {"checkpoint", "full"},
    {"cost-order", "recompute"},
    {"critic-size", "small"},
    {"dtype", "bf16"},
    {"events", "late"},
    {"forbid", "recompute"},
    {"format", "md"},
    {"formula", "exact"},
    {"json", "report.json"},
    {"kv-dtype", "bf16"},
    {"optimizer", "adamw"},
    {"optimizer-impl", "fused"},
    {"order", "total"},
    {"output", "table.txt"},
    {"precision", "bf16-mixed"},
    {"records", "records.jsonl"},
    {"reference", "offload"},
    {"reward-size", "small"},
    {"setup", "ppo.json"},
    {"snapshot", "run.pickle"},
    {"snapshot-dir", "snapshots"},
    {"value", "train.py:12=1"},
    {"value-file", "answers.txt"},
    {"workload", "step"},
});

template <typename Values>
std::string_view typical(const Values& values, std::string_view of) {
  const auto found = std::find_if(values.begin(), values.end(),
                                  [&](const TypicalValue& one) { return one.of == of; });
  return found == values.end() ? "" : found->value;
}

// The kind of value that is missing; "" if the flag's parser refuses an empty one.
std::string_view wanted(const Flag& flag) {
  if (flag.file != FileUse::kNone) return "the name of a file";
  if (flag.value.starts_with("TEXT")) return "a text";
  return flag.value == "SIZE" ? "a size" : "";
}

}  // namespace

std::string example_of(const Flag& flag) {
  if (!flag.example.empty()) return flag.example;
  std::string example = "--" + flag.name;
  if (flag.value.empty() || !flag.alone.empty()) return example;
  std::string_view value = typical(kByKind, flag.value);
  if (value.empty()) value = typical(kByName, flag.name);
  return value.empty() ? "" : example.append(" ").append(value);
}

void check_not_empty(const Flag& flag, const std::string& value) {
  const std::string_view allowed = wanted(flag);
  if (!value.empty() || allowed.empty()) return;
  throw UsageError("--" + flag.name, "",
                   std::string("is empty; allowed: ").append(allowed) + ", or no --" + flag.name,
                   example_of(flag));
}

}  // namespace headroom
