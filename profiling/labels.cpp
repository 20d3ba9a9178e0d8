#include "profiling/labels.h"

#include <cstdint>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>

namespace headroom {
namespace {

std::string words_for(const Lifetime& lifetime) {
  const std::string category = to_string(lifetime.category);
  return lifetime.name.empty() ? category : category + ": " + lifetime.name;
}

class Labels {
 public:
  Labels(Snapshot& snapshot, const std::vector<Lifetime>& lifetimes)
      : snapshot_(snapshot), lifetimes_(lifetimes) {
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      if (lifetimes_[i].allocated != Lifetime::kBefore) allocated_[lifetimes_[i].allocated] = i;
      if (lifetimes_[i].freed != Lifetime::kNever) freed_[lifetimes_[i].freed] = i;
    }
  }

  void label(std::vector<TraceEvent>& trace, const std::vector<TraceEvent>& recorded) {
    auto event = trace.rbegin();
    std::unordered_map<uint64_t, size_t> requested;  // releases underway, by address
    for (int64_t index = static_cast<int64_t>(recorded.size()) - 1; index >= 0; --index) {
      const TraceEvent& other = recorded[static_cast<size_t>(index)];
      while (event != trace.rend() && event->action == TraceAction::kSnapshot) ++event;
      if (event == trace.rend() || event->action != other.action ||
          event->address != other.address) {
        return;
      }
      if (other.action == TraceAction::kAlloc) {
        if (const auto found = allocated_.find(index); found != allocated_.end()) {
          event->label = label_of(found->second);
        }
      } else if (other.action == TraceAction::kFreeCompleted) {
        if (const auto found = freed_.find(index); found != freed_.end()) {
          requested[other.address] = found->second;
          label_release(*event, found->second);
        }
      } else if (other.action == TraceAction::kFreeRequested) {
        if (const auto found = requested.find(other.address); found != requested.end()) {
          label_release(*event, found->second);
          requested.erase(found);
        }
      }
      ++event;
    }
  }

  void label(std::vector<Segment>& segments) {
    std::unordered_map<uint64_t, size_t> at_the_end;
    for (size_t i = 0; i < lifetimes_.size(); ++i) {
      if (lifetimes_[i].freed == Lifetime::kNever) at_the_end[lifetimes_[i].address] = i;
    }
    for (Segment& segment : segments) {
      for (Block& block : segment.blocks) {
        const auto found = at_the_end.find(block.address);
        if (block.state == BlockState::kInactive || found == at_the_end.end()) continue;
        if (lifetimes_[found->second].allocated == Lifetime::kBefore) {
          block.stack = with_name(block.stack, found->second);
        }
      }
    }
  }

 private:
  int32_t label_of(size_t lifetime) {
    const auto [it, is_new] = label_ids_.try_emplace(words_for(lifetimes_[lifetime]),
                                                     static_cast<int32_t>(snapshot_.labels.size()));
    if (is_new) snapshot_.labels.push_back(it->first);
    return it->second;
  }

  void label_release(TraceEvent& event, size_t lifetime) {
    event.label = label_of(lifetime);
    if (lifetimes_[lifetime].allocated == Lifetime::kBefore) {
      event.stack = with_name(event.stack, lifetime);
    }
  }

  // The same stack with the lifetime's label as its innermost frame.
  int32_t with_name(int32_t stack, size_t lifetime) {
    const int32_t label = label_of(lifetime);
    const auto [it, is_new] = stack_ids_.try_emplace(std::make_pair(stack, label),
                                                     static_cast<int32_t>(snapshot_.stacks.size()));
    if (!is_new) return it->second;
    const auto [frame, is_new_frame] =
        frame_ids_.try_emplace(label, static_cast<int32_t>(snapshot_.frames.size()));
    if (is_new_frame) {
      snapshot_.frames.push_back({.name = snapshot_.labels[static_cast<size_t>(label)],
                                  .filename = Frame::kBeforeRecording});
    }
    std::vector<int32_t> frames = {frame->second};
    if (stack >= 0) {
      const std::vector<int32_t>& rest = snapshot_.stacks[static_cast<size_t>(stack)];
      frames.insert(frames.end(), rest.begin(), rest.end());
    }
    snapshot_.stacks.push_back(std::move(frames));
    return it->second;
  }

  Snapshot& snapshot_;
  const std::vector<Lifetime>& lifetimes_;
  std::unordered_map<int64_t, size_t> allocated_;  // lifetimes by event index
  std::unordered_map<int64_t, size_t> freed_;
  std::unordered_map<std::string, int32_t> label_ids_;
  std::unordered_map<int32_t, int32_t> frame_ids_;            // by label
  std::map<std::pair<int32_t, int32_t>, int32_t> stack_ids_;  // by stack and label
};

}  // namespace

void label_blocks(Snapshot& snapshot, const Recording& recording,
                  const std::vector<Lifetime>& lifetimes) {
  Labels labels(snapshot, lifetimes);
  // Only one of the snapshot's devices was recorded: other traces do not match.
  for (auto& trace : snapshot.device_traces) labels.label(trace, recording.events);
  labels.label(snapshot.segments);
}

}  // namespace headroom
