// The events of one recording, as every tracker logs them. No torch here.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "profiling/tracker/recording.h"

namespace headroom {

// Safe from any thread. Off until start(): what comes in while it is off is dropped.
class EventLog {
 public:
  void start(std::vector<LiveBlock> live_at_start);
  Recording stop();
  bool is_on() const { return on_; }

  void add(TraceEvent event);  // stamped with the time
  void mark(const Scope& scope, bool begins);
  int64_t size() const;  // events so far

 private:
  int64_t count() const { return static_cast<int64_t>(recording_.events.size()); }

  std::atomic<bool> on_ = false;
  mutable std::mutex mutex_;
  Recording recording_;
};

// The marks as the snapshot's annotations.
void annotate(Snapshot& snapshot, const std::vector<Mark>& marks, int64_t device);

}  // namespace headroom
