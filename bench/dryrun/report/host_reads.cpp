#include "bench/dryrun/report/host_reads.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/dryrun/report/frames.h"
#include "profiling/report/rows/cells.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr size_t kShownLines = 8;

// True for operations whose result always determines a size or a branch.
bool decides(const std::string& operation) {
  static const std::vector<std::string> kNames = {
      "bool",          "nonzero",  "where",      "nonzero_static",     "argwhere",
      "masked_select", "index",    "unique",     "unique_consecutive", "repeat_interleave",
      "equal",         "allclose", "is_nonzero", "bincount",           "histogram",
      "any",           "all",      "__index__",  "__bool__",           "unique_dim",
      "_unique2"};
  return is_one_of(operation, kNames);
}

// True for operations that read a bool, not a number.
bool is_test(const std::string& operation) {
  static const std::vector<std::string> kNames = {"bool",     "equal", "allclose", "is_nonzero",
                                                  "__bool__", "any",   "all"};
  return is_one_of(operation, kNames);
}

// "steers", "may_steer", or another use of the value: "printed", "stored", "loss_scaling",
// "checked".
std::string effect_of(const std::string& operation, const std::string& use) {
  if (use == "condition" || use == "index") return "steers";
  if (!use.empty()) return use;
  return decides(operation) ? "steers" : "may_steer";
}

// The outermost libtorch operation that the program called: "nonzero" from
// "at::_ops::nonzero::call(...)".
std::string operation_of(const json& frames) {
  constexpr std::string_view kOperations = "at::_ops::";
  std::string operation;
  for (const json& frame : frames) {
    const std::string name = frame.value("name", "");
    const size_t begin = name.find(kOperations);
    if (begin == std::string::npos) continue;
    const size_t start = begin + kOperations.size();
    operation = name.substr(start, name.find("::", start) - start);
  }
  return operation;
}

struct Line {
  std::string where;
  std::string line;  // its name in --value; "" in C++
  std::string operation;
  std::string use;
  int64_t count = 0;
  int64_t bytes = 0;
  int64_t answered = 0;
};

// Merges entries of a line that was reached by several paths.
void add(std::vector<Line>& lines, Line line) {
  const auto same = std::find_if(lines.begin(), lines.end(), [&](const Line& other) {
    return other.where == line.where && other.operation == line.operation && other.use == line.use;
  });
  if (same == lines.end()) {
    lines.push_back(std::move(line));
    return;
  }
  same->count += line.count;
  same->bytes += line.bytes;
  same->answered += line.answered;
}

std::vector<Line> lines_of(const json& stand_in, const json& allocator) {
  std::vector<Line> lines;
  for (const json& place : allocator.value("host_reads", json::array())) {
    add(lines, {.where = place.value("where", ""),
                .line = place.value("line", ""),
                .operation = place.value("operation", ""),
                .use = place.value("use", ""),
                .count = place.value("count", int64_t{0}),
                .bytes = place.value("bytes", int64_t{0}),
                .answered = place.value("answered", int64_t{0})});
  }
  for (const json& place : stand_in.value("host_reads", json::array())) {
    const json frames = place.value("stack", json::array());
    add(lines, {.where = own_frame(frames),
                .operation = operation_of(frames),
                .count = place.value("count", int64_t{0}),
                .bytes = place.value("bytes", int64_t{0})});
  }
  // A line that steers comes before one that logs more often.
  const auto place = [](const Line& line) {
    const std::string effect = effect_of(line.operation, line.use);
    const int rank = effect == "steers" ? 0 : effect == "may_steer" ? 1 : 2;
    return std::pair(rank, -line.count);
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const Line& a, const Line& b) { return place(a) < place(b); });
  return lines;
}

// The test in transformers' loop after each token: have all sequences ended?
bool is_stopping_test(const std::string& where) {
  if (!where.starts_with("transformers/generation/")) return false;
  const std::string place = where.substr(0, where.find(','));  // without its caller
  static const std::vector<std::string> kLoops = {"_sample", "_beam_search", "_assisted_decoding",
                                                  "_has_unfinished_sequences", "__call__"};
  return std::any_of(kLoops.begin(), kLoops.end(),
                     [&](const std::string& loop) { return place.ends_with(" in " + loop); });
}

// The value that an unanswered test ran with, and the meaning of the other value.
std::string test_remark(const std::string& where, const std::string& line) {
  if (is_stopping_test(where)) {
    return "    ran with 0: no sequence ended early, so every sequence has the length of the "
           "limit, and the peak is the largest possible; --value '" +
           line + "=0*19,1' ends all after 20 tokens\n";
  }
  if (line.empty()) return "    ran with 0 (false)\n";
  return "    ran with 0 (false); --value '" + line +
         "=1' runs it as true; the value that a card would give is not known here\n";
}

std::string how_to_answer(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string text = "  to give an answer: --value '" + lines.front() + "=1'\n";
  if (lines.size() == 1) return text;
  text +=
      "  all of these lines in the format of --value-file; give each the number that a card would "
      "give:\n";
  for (const std::string& line : lines) text += "    " + line + "=1\n";
  return text;
}

std::string times(int64_t count) { return count == 1 ? "once" : grouped(count) + " times"; }

}  // namespace

ordered_json host_reads_document(const json& stand_in, const json& allocator) {
  std::map<std::string, int64_t> counts;
  int64_t answered = 0;
  ordered_json lines = ordered_json::array();
  for (const Line& line : lines_of(stand_in, allocator)) {
    const std::string effect = effect_of(line.operation, line.use);
    counts[effect] += line.count - line.answered;
    answered += line.answered;
    lines.push_back({{"where", line.where},
                     {"line", line.line},
                     {"operation", line.operation},
                     {"effect", effect},
                     {"count", line.count},
                     {"bytes", line.bytes},
                     {"answered", line.answered}});
  }
  return {{"steer", counts["steers"]},
          {"may_steer", counts["may_steer"]},
          {"printed", counts["printed"]},
          {"stored", counts["stored"]},
          {"loss_scaling", counts["loss_scaling"]},
          {"checked", counts["checked"]},
          {"answered", answered},
          {"lines", std::move(lines)}};
}

bool may_be_steered(const ordered_json& host_reads) {
  return host_reads["steer"].get<int64_t>() + host_reads["may_steer"].get<int64_t>() > 0;
}

// Tests that the user answered: the peak is not in doubt, but depends on that answer.
std::string answered_tests(const std::string& who, const ordered_json& host_reads) {
  std::string text;
  for (const ordered_json& line : host_reads["lines"]) {
    const int64_t answered = line["answered"];
    if (answered == 0 || !is_test(line["operation"])) continue;
    text += who + "the peak depends on the answer that --value gave, " + times(answered) +
            ", to the test at " + line["where"].get<std::string>() + "\n";
  }
  return text;
}

std::string host_reads_text(const std::string& who, const ordered_json& host_reads,
                            bool has_failed) {
  if (!may_be_steered(host_reads)) return answered_tests(who, host_reads);
  const int64_t steer = host_reads["steer"];
  const int64_t may = host_reads["may_steer"];
  std::string text = who +
                     "the peak may be wrong: the program read values of the card, which are "
                     "all zeros here, and ";
  if (steer > 0) text += "branched on them " + times(steer);
  if (steer > 0 && may > 0) text += ", and ";
  if (may > 0) text += "may have branched on them " + times(may) + (steer > 0 ? " more" : "");
  text += "\n";
  size_t shown = 0;
  size_t left = 0;
  std::vector<std::string> answers;  // lines that need a number
  for (const ordered_json& line : host_reads["lines"]) {
    const std::string effect = line["effect"];
    const int64_t count = line["count"].get<int64_t>() - line["answered"].get<int64_t>();
    if ((effect != "steers" && effect != "may_steer") || count <= 0) continue;
    if (shown >= kShownLines && effect != "steers") {
      ++left;
      continue;
    }
    ++shown;
    const std::string where = line["where"];
    const std::string operation = line["operation"];
    text += "  " + grouped(count) + " x " + (where.empty() ? "an unknown place" : where) +
            (operation.empty() ? "" : ": " + operation) +
            (effect == "may_steer" ? " (may have)" : "") + "\n";
    if (is_test(operation)) {
      text += test_remark(where, line["line"]);
    } else if (!line["line"].get<std::string>().empty()) {
      answers.push_back(line["line"]);
    }
  }
  if (left > 0) text += "  and " + grouped(static_cast<int64_t>(left)) + " more lines (--json)\n";
  text += how_to_answer(answers);
  if (has_failed) {
    text +=
        "  the program failed before it reached later lines; a run with these answers shows those "
        "too\n";
  }
  return text + answered_tests(who, host_reads);
}

}  // namespace headroom
