#include "bench/launch/ranks/rank_watch.h"

#include <algorithm>
#include <utility>

#include "text/words.h"

namespace headroom {

RankWatch::RankWatch(int64_t ranks, std::chrono::milliseconds silence, Say say)
    : silence_(silence),
      say_(std::move(say)),
      last_(static_cast<size_t>(ranks)),
      has_ended_(static_cast<size_t>(ranks), false) {
  if (say_) thread_ = std::thread([this] { watch(); });
}

RankWatch::~RankWatch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

void RankWatch::heard(int64_t rank, const Progress& progress) {
  const std::lock_guard lock(mutex_);
  last_.at(static_cast<size_t>(rank)) = progress;
  ++signs_;
}

void RankWatch::ended(int64_t rank) {
  const std::lock_guard lock(mutex_);
  has_ended_.at(static_cast<size_t>(rank)) = true;
  ++signs_;
}

void RankWatch::watch() {
  std::unique_lock lock(mutex_);
  uint64_t known = signs_;
  std::chrono::milliseconds silent{0};
  while (!changed_.wait_for(lock, silence_, [this] { return is_over_; })) {
    silent = signs_ == known ? silent + silence_ : std::chrono::milliseconds{0};
    known = signs_;
    if (silent.count() > 0) say_(line(silent));
  }
}

// Names the ranks furthest behind: the others wait for them.
std::string RankWatch::line(std::chrono::milliseconds silent) const {
  const auto place = [](const Progress& progress) {
    return progress.stage.empty() ? -1 : progress.step;
  };
  int64_t least = INT64_MAX;
  for (size_t i = 0; i < last_.size(); ++i) {
    if (!has_ended_[i]) least = std::min<int64_t>(least, place(last_[i]));
  }
  std::vector<std::string> behind;
  std::string stage;
  for (size_t i = 0; i < last_.size(); ++i) {
    if (has_ended_[i] || place(last_[i]) != least) continue;
    behind.push_back(std::to_string(i));
    stage = last_[i].stage.empty() ? "starting" : last_[i].stage;
  }
  const bool is_one = behind.size() == 1;
  return "no rank has begun anything for " + std::to_string(silent.count() / 1000) +
         " s; furthest behind " + (is_one ? "is rank " : "are ranks ") + join(behind) +
         ", at: " + stage + (least > 0 ? " step " + std::to_string(least) : "");
}

}  // namespace headroom
