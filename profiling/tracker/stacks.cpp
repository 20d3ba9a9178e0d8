#include "profiling/tracker/stacks.h"

#include <torch/csrc/profiler/unwind/unwind.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <unordered_map>

namespace headroom {
namespace {

namespace unwind = torch::unwind;

constexpr size_t kMaxDepth = 64;  // program counters kept per stack, innermost first

// Frames of the recorder itself, which say nothing about the allocation.
bool is_recorder(const Frame& frame) {
  for (const char* part : {"unwind::unwind", "StackTable::", "HostAllocator::", "HostBooks::"}) {
    if (frame.name.find(part) != std::string::npos) return true;
  }
  return frame.filename.find("/profiling/host_tracker.cpp") != std::string::npos;
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

struct OwnCounter {
  void* counter;
  uint64_t offset;  // in our executable's file
};

// "file.cpp:12 (discriminator 3)" to a frame.
Frame frame_of(const std::string& function, const std::string& place) {
  const size_t colon = place.rfind(':', place.find(" (discriminator"));
  Frame frame{.name = function, .filename = place.substr(0, colon)};
  if (colon != std::string::npos) frame.line = std::atoll(place.c_str() + colon + 1);
  return frame;
}

// Note [Inlined frames]
// Rationale: our layers are thin, so the compiler folds them and ATen's inline wrappers into their
//   callers. A program counter then lies in a line of ATen's headers, and libtorch's symbolizer
//   names only that: the line of model/ that allocated would be missing.
// Approach: binutils' addr2line (it comes with the compiler) lists the whole chain of inlined
// calls. Limits: without addr2line the frames are libtorch's, without the chain.
bool name_with_addr2line(const std::vector<OwnCounter>& counters, Names& names) {
  std::array<char, 32> list = {"/tmp/headroom-stacks.XXXXXX"};
  const int file = mkstemp(list.data());
  if (file < 0) return false;
  std::string addresses;
  for (const OwnCounter& own : counters) {
    std::array<char, 24> text{};
    // One byte back: the counter is where the call returns to, possibly on the next line.
    std::snprintf(text.data(), text.size(), "0x%llx\n",
                  static_cast<unsigned long long>(own.offset - 1));
    addresses += text.data();
  }
  const bool listed =
      write(file, addresses.data(), addresses.size()) == static_cast<ssize_t>(addresses.size());
  close(file);
  const std::string command = "addr2line -a -i -f -C -e /proc/" + std::to_string(getpid()) +
                              "/exe @" + list.data() + " 2>/dev/null";
  FILE* output = listed ? popen(command.c_str(), "r") : nullptr;
  size_t next = 0;  // counters met so far
  std::string function;
  char* line = nullptr;
  size_t capacity = 0;
  while (output != nullptr && getline(&line, &capacity, output) > 0) {
    std::string text = line;
    text.erase(text.find_last_not_of('\n') + 1);
    if (text.rfind("0x", 0) == 0) {
      ++next;
      function.clear();
    } else if (function.empty()) {
      function = text;
    } else if (next >= 1 && next <= counters.size()) {
      names[counters[next - 1].counter].push_back(frame_of(function, text));
      function.clear();
    }
  }
  std::free(line);
  if (output != nullptr) pclose(output);
  unlink(list.data());
  return next == counters.size();
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
  std::vector<OwnCounter> ours;
  std::vector<void*> others;
  for (const auto& [stack, id] : ids_) {
    for (void* counter : stack) {
      if (!names.try_emplace(counter).second) continue;
      // Only our own programs have line tables; libtorch's wheel has none to read.
      const auto library = unwind::libraryFor(counter);
      if (library && library->first.find("headroom") != std::string::npos) {
        ours.push_back({counter, library->second});
      } else {
        others.push_back(counter);
      }
    }
  }
  if (!ours.empty() && !name_with_addr2line(ours, names)) {
    std::vector<void*> counters;
    for (const OwnCounter& own : ours) counters.push_back(own.counter);
    name_with_libtorch(counters, unwind::Mode::fast, names);
  }
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
