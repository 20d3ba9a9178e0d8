#include "profiling/stacks.h"

#include <torch/csrc/profiler/unwind/unwind.h>

#include <algorithm>
#include <string>
#include <unordered_map>

namespace headroom {
namespace {

namespace unwind = torch::unwind;

constexpr size_t kMaxDepth = 64;  // frames kept per stack, innermost first

// Only our own program has line tables worth the time to read; libtorch's wheel has none.
bool is_ours(const std::string& library) { return library.find("headroom") != std::string::npos; }

// Frames of the recorder itself, which say nothing about the allocation.
bool is_recorder(const std::string& name) {
  return name.find("unwind::unwind") != std::string::npos ||
         name.find("StackTable::") != std::string::npos ||
         name.find("HostAllocator::") != std::string::npos;
}

using Names = std::unordered_map<void*, unwind::Frame>;

void name_frames(const std::vector<void*>& counters, unwind::Mode mode, Names& names) {
  if (counters.empty()) return;
  const std::vector<unwind::Frame> frames = unwind::symbolize(counters, mode);
  for (size_t i = 0; i < counters.size(); ++i) names[counters[i]] = frames[i];
}

}  // namespace

int32_t StackTable::capture() {
  std::vector<void*> stack = unwind::unwind();
  if (stack.size() > kMaxDepth) stack.resize(kMaxDepth);
  return ids_.try_emplace(std::move(stack), static_cast<int32_t>(ids_.size())).first->second;
}

void StackTable::clear() { ids_.clear(); }

void StackTable::symbolize_into(Snapshot& snapshot) const {
  Names names;
  std::vector<void*> ours;
  std::vector<void*> others;
  for (const auto& [stack, id] : ids_) {
    for (void* counter : stack) {
      if (!names.try_emplace(counter).second) continue;
      const auto library = unwind::libraryFor(counter);
      (library && is_ours(library->first) ? ours : others).push_back(counter);
    }
  }
  name_frames(ours, unwind::Mode::fast, names);
  name_frames(others, unwind::Mode::dladdr, names);

  std::unordered_map<void*, int32_t> frame_ids;
  snapshot.stacks.assign(ids_.size(), {});
  for (const auto& [stack, id] : ids_) {
    for (void* counter : stack) {
      const unwind::Frame& frame = names[counter];
      if (is_recorder(frame.funcname)) continue;
      const auto [it, is_new] =
          frame_ids.try_emplace(counter, static_cast<int32_t>(snapshot.frames.size()));
      if (is_new) {
        snapshot.frames.push_back(
            {frame.funcname, frame.filename, static_cast<int64_t>(frame.lineno)});
      }
      snapshot.stacks[static_cast<size_t>(id)].push_back(it->second);
    }
  }
}

}  // namespace headroom
