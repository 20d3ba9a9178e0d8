#include "bench/launch/ranks/rank_records.h"

#include <algorithm>
#include <string>

#include "bench/launch/cell.h"
#include "text/words.h"

namespace headroom {
namespace {

// The likelihood that a rank failed by itself: others fail with its connections, or are stopped.
int rank_of_cause(const Record& record) {
  switch (record.status) {
    case Status::kOk:
      return 0;
    case Status::kKilled:
      return record.reason == kStoppedForAnother ? 1 : 4;
    case Status::kFailed:
      return 2;
    default:
      return 3;
  }
}

// The rank whose Record stands for all: the first that failed by itself, otherwise the one with the
// highest peak.
size_t telling_rank(const std::vector<RankRecord>& ends) {
  const auto before = [](const RankRecord& a, const RankRecord& b) {
    const int cause_a = rank_of_cause(a.record);
    const int cause_b = rank_of_cause(b.record);
    if (cause_a != cause_b) return cause_a > cause_b;
    if (cause_a > 0) return a.turn < b.turn;
    const auto peak = [](const Record& one) { return one.peak ? one.peak->allocated : 0; };
    return peak(a.record) > peak(b.record);
  };
  return static_cast<size_t>(std::min_element(ends.begin(), ends.end(), before) - ends.begin());
}

// The mean over the ranks that have losses.
std::vector<double> mean_losses(const std::vector<RankRecord>& ends) {
  std::vector<double> mean;
  double with_losses = 0;
  for (const RankRecord& one : ends) {
    const auto& losses = one.record.losses.get();
    if (losses.empty()) continue;
    ++with_losses;
    mean.resize(std::max(mean.size(), losses.size()));
    for (size_t i = 0; i < losses.size(); ++i) mean[i] += losses[i];
  }
  for (double& loss : mean) loss /= with_losses;
  return mean;
}

// After a timeout: the ranks that did not answer, which had not failed themselves. "" = none.
std::string silent_ranks(const Record& record) {
  if (record.reason.find("imed out") == std::string::npos) return "";
  std::vector<std::string> silent;
  for (const RankFigures& one : record.ranks) {
    if (one.reason == kStoppedForAnother) silent.push_back(std::to_string(one.rank));
  }
  return silent.empty() ? "" : "no answer from rank " + join(silent) + "; ";
}

// The rank's own figures, and its end.
RankFigures figures_of(const RankRecord& end) {
  RankFigures figures = end.record.ranks.empty() ? RankFigures{} : end.record.ranks.front();
  figures.rank = end.rank;
  figures.status = end.record.status;
  figures.reason = end.record.reason;
  if (!end.alike.empty()) figures.alike = rank_list(end.alike);
  figures.peak = end.record.peak.value_or(MemoryBytes{});
  return figures;
}

}  // namespace

Record record_of_all(std::vector<RankRecord> ends) {
  std::vector<RankFigures> ranks;
  ranks.reserve(ends.size());
  for (const RankRecord& end : ends) ranks.push_back(figures_of(end));
  std::vector<double> losses = mean_losses(ends);
  RankRecord& telling = ends[telling_rank(ends)];
  Record record = std::move(telling.record);
  record.losses = std::move(losses);
  record.ranks = std::move(ranks);
  if (record.status != Status::kOk) {
    record.reason =
        silent_ranks(record) + "rank " + std::to_string(telling.rank) + ": " + record.reason;
  }
  return record;
}

}  // namespace headroom
