// The events of one recording, logged alike by every tracker. No torch here.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "profiling/tracker/recording.h"

namespace headroom {

// Thread-safe. Off until start(): events that come while it is off are dropped.
class EventLog {
 public:
  void start(std::vector<LiveBlock> live_at_start);
  Recording stop();
  bool is_on() const { return on_; }

  void add(TraceEvent event);  // sets the event's time
  void mark(const Scope& scope, bool begins);
  int64_t size() const;  // events so far

 private:
  int64_t count() const { return static_cast<int64_t>(recording_.events.size()); }

  std::atomic<bool> on_ = false;
  mutable std::mutex mutex_;
  Recording recording_;
};

// Adds the marks as the snapshot's annotations.
void annotate(Snapshot& snapshot, const std::vector<Mark>& marks, int64_t device);

}  // namespace headroom
