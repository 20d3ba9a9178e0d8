#include "profiling/tracker/stacks.h"

#include <torch/csrc/profiler/unwind/unwind.h>

#include <optional>
#include <string>
#include <unordered_map>

#include "profiling/tracker/own_frames.h"

namespace headroom {
namespace {

namespace unwind = torch::unwind;

constexpr size_t kMaxDepth = 64;  // program counters kept per stack, innermost first

// Frames of the recorder itself, which say nothing about the allocation.
bool is_recorder(const Frame& frame) {
  for (const char* part : {"unwind::unwind", "StackTable::", "HostAllocator::", "HostBooks::"}) {
    if (frame.name.find(part) != std::string::npos) return true;
  }
  return false;
}

// What one program counter stands for: the function there and, around it, those it was inlined
// into.
using Names = std::unordered_map<void*, std::vector<Frame>>;

void name_with_libtorch(const std::vector<void*>& counters, unwind::Mode mode, Names& names) {
  if (counters.empty()) return;
  const std::vector<unwind::Frame> frames = unwind::symbolize(counters, mode);
  for (size_t i = 0; i < counters.size(); ++i) {
    // dladdr gives the offset in the library where a line number would be.
    const auto line = mode == unwind::Mode::dladdr ? 0 : static_cast<int64_t>(frames[i].lineno);
    names[counters[i]] = {{frames[i].funcname, frames[i].filename, line}};
  }
}

// Counters of the running program; `offsets` are the same in its file.
void name_own(const std::vector<void*>& counters, const std::vector<uint64_t>& offsets,
              Names& names) {
  if (counters.empty()) return;
  auto chains = frames_in_program(offsets);
  if (!chains) return name_with_libtorch(counters, unwind::Mode::fast, names);
  for (size_t i = 0; i < counters.size(); ++i) names[counters[i]] = std::move((*chains)[i]);
}

}  // namespace

int32_t StackTable::capture() {
  std::vector<void*> stack = unwind::unwind();
  if (stack.size() > kMaxDepth) stack.resize(kMaxDepth);
  return ids_.try_emplace(std::move(stack), static_cast<int32_t>(ids_.size())).first->second;
}

void StackTable::symbolize_into(Snapshot& snapshot) const {
  Names names;
  std::vector<void*> own;
  std::vector<uint64_t> own_offsets;
  std::vector<void*> others;
  for (const auto& [stack, id] : ids_) {
    for (void* counter : stack) {
      if (!names.try_emplace(counter).second) continue;
      // Only our own program has line tables; libtorch's wheel has none to read.
      if (const auto offset = offset_in_program(counter)) {
        own.push_back(counter);
        own_offsets.push_back(*offset);
      } else {
        others.push_back(counter);
      }
    }
  }
  name_own(own, own_offsets, names);
  name_with_libtorch(others, unwind::Mode::dladdr, names);

  std::unordered_map<void*, std::vector<int32_t>> frame_ids;
  snapshot.stacks.assign(ids_.size(), {});
  for (const auto& [stack, id] : ids_) {
    for (void* counter : stack) {
      const auto [it, is_new] = frame_ids.try_emplace(counter);
      for (size_t i = 0; is_new && i < names[counter].size(); ++i) {
        if (is_recorder(names[counter][i])) continue;
        it->second.push_back(static_cast<int32_t>(snapshot.frames.size()));
        snapshot.frames.push_back(names[counter][i]);
      }
      auto& frames = snapshot.stacks[static_cast<size_t>(id)];
      frames.insert(frames.end(), it->second.begin(), it->second.end());
    }
  }
}

}  // namespace headroom
