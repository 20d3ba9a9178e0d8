#include "virtual_gpu/device/streams/pending.h"

#include <algorithm>

namespace virtual_gpu {
namespace {

// State of the calling thread.
struct PollingThread {
  bool has_issued = false;
  int refusals = 0;
};
thread_local PollingThread this_thread;

}  // namespace

StreamSlot PendingWork::add_stream(int device, StreamKind kind) {
  const auto slot = static_cast<StreamSlot>(streams_.size());
  streams_.push_back({.device = device, .kind = kind});
  if (kind == StreamKind::kDefault) defaults_[device] = slot;
  if (kind == StreamKind::kBlocking) blocking_[device].push_back(slot);
  return slot;
}

void PendingWork::remove_stream(StreamSlot slot) {
  const Work& work = streams_[slot];
  if (work.kind != StreamKind::kBlocking) return;
  const auto found = defaults_.find(work.device);
  if (found != defaults_.end()) wait(found->second, now(slot));
  std::erase(blocking_[work.device], slot);
}

void PendingWork::issue(StreamSlot slot) {
  join_default(slot);
  ++streams_[slot].issued;
}

void PendingWork::wait(StreamSlot slot, Moment moment) {
  if (moment.slot == slot || is_done(moment)) return;
  Work& work = streams_[slot];
  uint64_t& linked = work.linked[moment.slot];
  if (linked >= moment.ticket) return;
  linked = moment.ticket;
  work.edges.push_back({.at = ++work.issued, .before = moment});
}

Moment PendingWork::now(StreamSlot slot) {
  join_default(slot);
  return {.slot = slot, .ticket = streams_[slot].issued};
}

void PendingWork::join_default(StreamSlot slot) {
  const Work& work = streams_[slot];
  if (work.kind == StreamKind::kNonBlocking) return;
  if (work.kind == StreamKind::kBlocking) {
    const auto found = defaults_.find(work.device);
    if (found == defaults_.end()) return;
    return wait(slot, {.slot = found->second, .ticket = streams_[found->second].issued});
  }
  for (const StreamSlot other : blocking_[work.device]) {
    wait(slot, {.slot = other, .ticket = streams_[other].issued});
  }
}

bool PendingWork::is_done(Moment moment) const {
  return moment.ticket == 0 || streams_[moment.slot].done >= moment.ticket;
}

void PendingWork::complete(Moment moment) {
  std::vector<Moment> open{moment};
  while (!open.empty()) {
    const Moment next = open.back();
    open.pop_back();
    if (is_done(next)) continue;
    Work& work = streams_[next.slot];
    work.done = next.ticket;
    while (!work.edges.empty() && work.edges.front().at <= work.done) {
      open.push_back(work.edges.front().before);
      work.edges.pop_front();
    }
  }
}

void PendingWork::complete_device(int device) {
  for (StreamSlot slot = 0; slot < streams_.size(); ++slot) {
    if (streams_[slot].device == device) complete({slot, streams_[slot].issued});
  }
}

void PollingThreads::issued() {
  this_thread = {.has_issued = true};
  last_ = std::chrono::steady_clock::now();
}

bool PollingThreads::only_asks() { return !this_thread.has_issued; }

bool PollingThreads::may_end() {
  if (this_thread.has_issued && ++this_thread.refusals >= kMostRefusals) {
    this_thread.refusals = 0;
    return true;
  }
  return std::chrono::steady_clock::now() - last_ >= quiet_;
}

}  // namespace virtual_gpu
