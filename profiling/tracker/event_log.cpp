#include "profiling/tracker/event_log.h"

#include <chrono>
#include <utility>

namespace headroom {
namespace {

int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

void EventLog::start(std::vector<LiveBlock> live_at_start) {
  const std::lock_guard lock(mutex_);
  recording_ = {.live_at_start = std::move(live_at_start)};
  on_ = true;
}

Recording EventLog::stop() {
  const std::lock_guard lock(mutex_);
  on_ = false;
  return std::exchange(recording_, {});
}

void EventLog::add(TraceEvent event) {
  if (!on_) return;
  const std::lock_guard lock(mutex_);
  if (!on_) return;  // stopped while this thread waited
  event.time_us = now_us();
  recording_.events.push_back(event);
}

void EventLog::mark(const Scope& scope, bool begins) {
  const std::lock_guard lock(mutex_);
  if (on_) recording_.marks.push_back({scope, begins, count(), now_us()});
}

int64_t EventLog::size() const {
  const std::lock_guard lock(mutex_);
  return count();
}

void annotate(Snapshot& snapshot, const std::vector<Mark>& marks, int64_t device) {
  for (const Mark& mark : marks) {
    snapshot.annotations.push_back({mark.scope.text(), mark.begins, device, mark.time_us});
  }
}

}  // namespace headroom
