#include "plan/fit/vary.h"

#include <algorithm>
#include <map>
#include <utility>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kFlag = "--vary";
constexpr const char* kExample = "--vary batch=1..256";

std::string place_of(const Vary& vary) { return "{" + vary.name + "}"; }

class VarySearch {
 public:
  VarySearch(const Vary& vary, const RunProgram& run, const std::function<bool()>& stopped)
      : vary_(vary), run_(run), stopped_(stopped) {}

  // Searches from `least`; values below it are known to run.
  void with(const std::string& alloc_conf, int64_t least) {
    const auto ask = [&](int64_t value) {
      return stopped_() ? Fits::kUnknown : asked(value, alloc_conf).fits;
    };
    const Range range{.least = least, .most = vary_.range.most, .stride = 1};
    const std::optional<int64_t> largest = largest_that_fits(range, least, ask);
    if (largest && *largest == 0 && !result_.answers.empty()) return;  // reaches no further
    if (!largest) return add_what_ran(alloc_conf);
    VaryAnswer answer{.alloc_conf = alloc_conf, .largest = *largest, .at = {}, .beyond = {}};
    if (*largest > 0) answer.at = asked(*largest, alloc_conf);
    const auto beyond = runs_.find({std::max(*largest + 1, least), alloc_conf});
    if (beyond != runs_.end()) answer.beyond = beyond->second;
    result_.answers.push_back(std::move(answer));
  }

  bool failed() const { return !result_.failures.empty(); }
  VaryResult take() {
    result_.stopped = stopped_();
    return std::move(result_);
  }
  int64_t reached() const {
    int64_t most = 0;
    for (const VaryAnswer& answer : result_.answers) most = std::max(most, answer.largest);
    return most;
  }

 private:
  // After a failure not caused by memory, or an interruption: the largest value that ran, and the
  // first above it that did not.
  void add_what_ran(const std::string& alloc_conf) {
    VaryAnswer answer{.alloc_conf = alloc_conf, .largest = 0, .at = {}, .beyond = {}};
    for (const auto& [key, run] : runs_) {
      if (key.second != alloc_conf || run.fits != Fits::kYes || key.first <= answer.largest) {
        continue;
      }
      answer.largest = key.first;
      answer.at = run;
    }
    for (const auto& [key, run] : runs_) {
      const bool is_failure = run.fits != Fits::kYes && !run.reason.empty();
      if (key.second != alloc_conf || key.first <= answer.largest || !is_failure) continue;
      answer.beyond = run;
      answer.beyond->reason = vary_.name + " " + std::to_string(key.first) + ": " + run.reason;
      break;
    }
    const bool is_first = result_.answers.empty() && !stopped_();
    if (answer.largest > 0 || is_first) result_.answers.push_back(std::move(answer));
  }

  const ProgramRun& asked(int64_t value, const std::string& alloc_conf) {
    const auto [found, is_new] = runs_.try_emplace({value, alloc_conf});
    if (!is_new) return found->second;
    found->second = run_(value, alloc_conf);
    if (found->second.fits == Fits::kUnknown && !stopped_()) {
      const std::string with = alloc_conf.empty() ? "" : ", " + alloc_conf;
      result_.failures.push_back(vary_.name + " " + std::to_string(value) + with + ": " +
                                 found->second.reason);
    }
    return found->second;
  }

  const Vary& vary_;
  const RunProgram& run_;
  const std::function<bool()>& stopped_;
  std::map<std::pair<int64_t, std::string>, ProgramRun> runs_;
  VaryResult result_;
};

}  // namespace

namespace {

// One end of the range. The example shows all of the flag's value, not a number.
int64_t bound_of(const std::string& typed, const std::string& bound, int64_t least) {
  constexpr int64_t kMost = int64_t{1} << 40;
  try {
    return parse_integer(kFlag, bound, least, kMost);
  } catch (const UsageError&) {
    throw UsageError(kFlag, typed,
                     "has '" + bound + "' in its range; allowed there: integers from " +
                         std::to_string(least) + " to " + std::to_string(kMost),
                     kExample);
  }
}

}  // namespace

Vary parse_vary(const std::string& typed, const std::vector<std::string>& words,
                const char* command) {
  const size_t equals = typed.find('=');
  const size_t dots = typed.find("..");
  if (equals == std::string::npos || equals == 0 || dots == std::string::npos || dots < equals) {
    throw UsageError(kFlag, typed, "is no name and range; allowed: NAME=FROM..TO", kExample);
  }
  Vary vary{.name = typed.substr(0, equals), .range = {}};
  vary.range.least = bound_of(typed, typed.substr(equals + 1, dots - equals - 1), 1);
  vary.range.most = bound_of(typed, typed.substr(dots + 2), vary.range.least);
  const bool has_place = std::any_of(words.begin(), words.end(), [&](const std::string& word) {
    return word.find(place_of(vary)) != std::string::npos;
  });
  if (!has_place) {
    throw UsageError(kFlag, typed,
                     "does not appear in the program's arguments; allowed: with " + place_of(vary) +
                         " in one of them, behind --",
                     command);
  }
  return vary;
}

std::vector<std::string> with_value(std::vector<std::string> words, const Vary& vary,
                                    int64_t value) {
  const std::string place = place_of(vary);
  const std::string text = std::to_string(value);
  for (std::string& word : words) {
    for (size_t at = word.find(place); at != std::string::npos; at = word.find(place, at)) {
      word.replace(at, place.size(), text);
      at += text.size();
    }
  }
  return words;
}

VaryResult search_vary(const Vary& vary, const std::vector<std::string>& alloc_confs,
                       const RunProgram& run, const std::function<bool()>& stopped) {
  VarySearch search(vary, run, stopped);
  for (const std::string& conf : alloc_confs) {
    if (stopped() || search.failed()) break;
    const bool is_first = &conf == &alloc_confs.front();
    const int64_t least =
        is_first ? vary.range.least : std::max(search.reached() + 1, vary.range.least);
    if (least > vary.range.most) break;  // nothing reaches further
    search.with(conf, least);
  }
  return search.take();
}

Table vary_table(const Vary& vary, const VaryResult& result, const std::string& card) {
  Table table{.title = "Largest " + vary.name + " that runs on " + card,
              .columns = {{"PYTORCH_CUDA_ALLOC_CONF"}, {vary.name, true}}};
  add_bytes_columns(table, "peak reserved");
  table.columns.push_back({"one step beyond"});
  for (const VaryAnswer& answer : result.answers) {
    std::vector<std::string> cells = {answer.alloc_conf.empty() ? "as it is" : answer.alloc_conf,
                                      std::to_string(answer.largest)};
    add_bytes_cells(cells, answer.at.peak);
    const bool is_end = answer.largest == vary.range.most;
    cells.push_back(answer.beyond ? answer.beyond->reason : is_end ? "the range ends" : "not run");
    table.rows.push_back(std::move(cells));
  }
  table.notes.emplace_back(
      "Each value was run on the virtual card; the search assumes that smaller values fit too.");
  const bool uses_cuda = std::any_of(
      result.answers.begin(), result.answers.end(),
      [](const VaryAnswer& answer) { return answer.largest == 0 || answer.at.peak.has_value(); });
  if (!uses_cuda) {
    table.notes.emplace_back("NO USE OF CUDA was seen: does the program put anything on the card?");
  }
  for (const std::string& failure : result.failures) {
    table.notes.push_back("failed for another reason than memory: " + failure);
  }
  if (result.stopped) table.notes.emplace_back("INTERRUPTED: the answers found until then.");
  return table;
}

}  // namespace headroom
