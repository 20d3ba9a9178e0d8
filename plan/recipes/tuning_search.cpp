#include "plan/recipes/tuning_search.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace headroom {
namespace {

// Rounds down to a value of the range.
int64_t within(const Range& range, double value) {
  const double most = static_cast<double>(range.most);
  const auto whole = static_cast<int64_t>(std::clamp(value, 0.0, most));
  return std::max(range.least, whole / range.stride * range.stride);
}

using Change = std::function<void(TuningChange&)>;

// Exact ones first, then those that cost time, then those that change the training.
std::vector<Change> changes_of(const FineTuning& tuning) {
  std::vector<Change> changes = {
      [](TuningChange& to) { to.alloc_conf = "expandable_segments:True"; }};
  if (!tuning.checkpointing) {
    changes.emplace_back([](TuningChange& to) { to.tuning.checkpointing = true; });
  }
  if (tuning.batch > 1) changes.emplace_back([](TuningChange& to) { to.tuning.batch = 1; });
  if (tuning.method == "full" && tuning.optimizer == "adamw") {
    changes.emplace_back([](TuningChange& to) { to.tuning.optimizer = "adamw8bit"; });
  }
  if (tuning.method == "full") {
    changes.emplace_back([optimizer = tuning.optimizer](TuningChange& to) {
      to.tuning.method = "lora";
      to.tuning.optimizer = optimizer;  // the states of LoRA are small
    });
  }
  if (tuning.method != "qlora" && tuning.cards == 1) {
    changes.emplace_back([](TuningChange& to) { to.tuning.method = "qlora"; });
  }
  return changes;
}

}  // namespace

LargestSize largest_size(FineTuning tuning, const TuningSize& size, const ProgramRun& first,
                         int64_t capacity, const RunTuning& run) {
  const int64_t start = tuning.*size.value;
  std::map<int64_t, ProgramRun> runs = {{start, first}};
  const auto asked = [&](int64_t value) -> const ProgramRun& {
    const auto found = runs.find(value);
    if (found != runs.end()) return found->second;
    tuning.*size.value = value;
    return runs[value] = run(tuning, "");
  };
  Range range = size.range;
  range.least = within(range, static_cast<double>(start));
  int64_t guess = range.least;
  const int64_t twice = within(range, 2.0 * static_cast<double>(start));
  if (twice > start && asked(twice).fits == Fits::kYes) {
    const auto grown = static_cast<double>(*asked(twice).peak - *first.peak);
    const double free = static_cast<double>(capacity - *first.peak);
    const auto added = static_cast<double>(twice - start);
    guess = grown > 0 ? within(range, static_cast<double>(start) + free / grown * added) : twice;
  }
  const auto found =
      largest_that_fits(range, guess, [&](int64_t value) { return asked(value).fits; });
  LargestSize largest{.value = found.value_or(0), .at = {}, .beyond = {}, .failure = {}};
  if (!found) {
    for (const auto& [value, of] : runs) {
      if (of.fits == Fits::kUnknown)
        largest.failure = size.flag + " " + std::to_string(value) + ": " + of.reason;
    }
    return largest;
  }
  if (largest.value > 0) largest.at = asked(largest.value);
  const auto beyond = runs.find(std::max(largest.value + range.stride, range.least));
  if (beyond != runs.end()) largest.beyond = beyond->second;
  return largest;
}

std::string changed_flags(const FineTuning& from, const FineTuning& to,
                          const std::string& alloc_conf) {
  std::string text = alloc_conf.empty() ? "" : " PYTORCH_CUDA_ALLOC_CONF=" + alloc_conf;
  if (to.checkpointing != from.checkpointing) text += " --checkpointing";
  if (to.batch != from.batch) text += " --batch " + std::to_string(to.batch);
  if (to.optimizer != from.optimizer) text += " --optimizer " + to.optimizer;
  if (to.method != from.method) text += " --method " + to.method;
  return text.empty() ? text : text.substr(1);
}

std::optional<TuningChange> change_that_fits(const FineTuning& tuning, const RunTuning& run) {
  const std::vector<Change> changes = changes_of(tuning);
  const auto fits_with = [&](size_t first, size_t end) -> std::optional<TuningChange> {
    TuningChange change{.tuning = tuning, .alloc_conf = {}, .run = {}};
    for (size_t i = first; i < end; ++i) changes[i](change);
    change.run = run(change.tuning, change.alloc_conf);
    if (change.run.fits != Fits::kYes) return std::nullopt;
    return change;
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    if (auto found = fits_with(i, i + 1)) return found;
  }
  for (size_t end = 2; end <= changes.size(); ++end) {
    if (auto found = fits_with(0, end)) return found;
  }
  return std::nullopt;
}

}  // namespace headroom
