// Watches the ranks of a cell, and reports when none has progressed for a while. No torch here.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "bench/launch/progress.h"

namespace headroom {

// A rank that is stopped, or that finds no other, makes all of them wait until their timeout
// (HEADROOM_RANK_PATIENCE_MS, five minutes, or half of --deadline), when one of them names the
// missing rank. Until then this is the only message.
class RankWatch {
 public:
  using Say = std::function<void(const std::string& line)>;
  RankWatch(int64_t ranks, std::chrono::milliseconds silence, Say say);
  ~RankWatch();
  RankWatch(const RankWatch&) = delete;
  RankWatch& operator=(const RankWatch&) = delete;

  // A rank has begun a step or a stage; a rank has ended.
  void heard(int64_t rank, const Progress& progress);
  void ended(int64_t rank);

 private:
  void watch();
  std::string line(std::chrono::milliseconds silent) const;

  const std::chrono::milliseconds silence_;
  const Say say_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Progress> last_;  // of each rank; no stage: none yet
  std::vector<bool> has_ended_;
  uint64_t signs_ = 0;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace headroom
