#include "profiling/tracker/stacks.h"

#include <algorithm>
#include <exception>
#include <optional>
#include <string>
#include <unordered_map>

#include "profiling/tracker/forward_calls.h"
#include "profiling/tracker/loaded_code.h"
#include "profiling/tracker/machinery.h"
#include "profiling/tracker/own_frames.h"
#include "profiling/tracker/symbol_table.h"

namespace headroom {
namespace {

// Stands in for a program counter; the stack of the forward call follows.
constexpr void* kBackwardOf = nullptr;

// The names of one program counter: the function there, then the functions it was inlined into.
using Names = std::unordered_map<void*, std::vector<Frame>>;

// One byte back: the counter is the return address, possibly on the next line.
uint64_t call_before(void* counter) { return reinterpret_cast<uint64_t>(counter) - 1; }

void name_those_of(const LoadedCode& code, const std::vector<void*>& counters, Names& names) {
  std::vector<uint64_t> addresses;
  std::vector<uint64_t> offsets;
  for (void* counter : counters) {
    addresses.push_back(call_before(counter));
    offsets.push_back(addresses.back() - code.base);
  }
  std::vector<std::string> functions = functions_at(code.path, offsets);
  std::vector<std::vector<Frame>> chains(counters.size());
  // Only our own program has line tables; libtorch's wheel has none to read.
  if (code.is_program) chains = own_frames_at(code, addresses);
  for (size_t i = 0; i < counters.size(); ++i) {
    if (chains[i].empty()) chains[i].push_back({"??", code.path});
    // The outermost of the chain is the function itself. Its symbol has more detail than its DWARF
    // name.
    if (!functions[i].empty()) chains[i].back().name = std::move(functions[i]);
    names[counters[i]] = std::move(chains[i]);
  }
}

std::vector<bool> used_stacks(const Snapshot& snapshot, size_t count) {
  std::vector<bool> used(count, false);
  const auto use = [&](int32_t stack) {
    if (stack >= 0) used[static_cast<size_t>(stack)] = true;
  };
  for (const Segment& segment : snapshot.segments) {
    use(segment.stack);
    for (const Block& block : segment.blocks) use(block.stack);
  }
  for (const auto& trace : snapshot.device_traces) {
    for (const TraceEvent& event : trace) use(event.stack);
  }
  return used;
}

Names names_of(const std::vector<const std::vector<void*>*>& stacks) {
  const std::vector<LoadedCode> loaded = loaded_code();
  std::vector<std::vector<void*>> counters(loaded.size());
  Names names;
  for (const std::vector<void*>* stack : stacks) {
    for (void* counter : *stack) {
      if (counter == kBackwardOf || !names.try_emplace(counter).second) continue;
      for (size_t i = 0; i < loaded.size(); ++i) {
        if (loaded[i].holds(call_before(counter))) counters[i].push_back(counter);
      }
    }
  }
  for (size_t i = 0; i < loaded.size(); ++i) {
    if (!counters[i].empty()) name_those_of(loaded[i], counters[i], names);
  }
  return names;
}

}  // namespace

int32_t StackTable::capture() {
  std::vector<void*> stack = stack_of_caller();
  const std::vector<void*> forward = forward_call_of_running_node();
  if (!forward.empty()) {
    stack.push_back(kBackwardOf);
    stack.insert(stack.end(), forward.begin(), forward.end());
  }
  return ids_.try_emplace(std::move(stack), static_cast<int32_t>(ids_.size())).first->second;
}

void StackTable::symbolize_into(Snapshot& snapshot) const {
  snapshot.stacks.assign(ids_.size(), {});
  try {
    fill_stacks(snapshot);
  } catch (const std::exception&) {
    // Figures never depend on names.
  }
}

void StackTable::fill_stacks(Snapshot& snapshot) const {
  const std::vector<bool> used = used_stacks(snapshot, ids_.size());
  std::vector<const std::vector<void*>*> stacks(ids_.size());
  std::vector<const std::vector<void*>*> wanted;
  for (const auto& [stack, id] : ids_) {
    if (!used[static_cast<size_t>(id)]) continue;
    stacks[static_cast<size_t>(id)] = &stack;
    wanted.push_back(&stack);
  }
  const Names names = names_of(wanted);

  std::unordered_map<void*, int32_t> first_frame;  // of each counter; its frames are in a row
  for (const auto& [counter, frames] : names) {
    first_frame[counter] = static_cast<int32_t>(snapshot.frames.size());
    snapshot.frames.insert(snapshot.frames.end(), frames.begin(), frames.end());
  }
  std::optional<int32_t> backward_of;  // one frame for all, added when needed

  using Counters = std::vector<void*>::const_iterator;
  const auto frames_of = [&](Counters begin, Counters end) {
    std::vector<int32_t> frames;
    for (; begin != end; ++begin) {
      const auto count = static_cast<int32_t>(names.at(*begin).size());
      for (int32_t i = 0; i < count; ++i) frames.push_back(first_frame.at(*begin) + i);
    }
    frames.erase(frames.begin(), frames.begin() + machinery_frames(snapshot.frames, frames));
    return frames;
  };
  for (size_t id = 0; id < stacks.size(); ++id) {
    if (stacks[id] == nullptr) continue;
    const auto forward = std::find(stacks[id]->begin(), stacks[id]->end(), kBackwardOf);
    std::vector<int32_t>& frames = snapshot.stacks[id] = frames_of(stacks[id]->begin(), forward);
    if (forward == stacks[id]->end()) continue;
    if (!backward_of) {
      backward_of = static_cast<int32_t>(snapshot.frames.size());
      snapshot.frames.push_back({.name = Frame::kBackwardOf, .filename = "??"});
    }
    frames.push_back(*backward_of);
    const std::vector<int32_t> call = frames_of(forward + 1, stacks[id]->end());
    frames.insert(frames.end(), call.begin(), call.end());
  }
}

}  // namespace headroom
