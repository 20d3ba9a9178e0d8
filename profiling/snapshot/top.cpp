#include "profiling/snapshot/top.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "text/words.h"

namespace headroom {
namespace {

struct Live {
  int64_t size = 0;
  int64_t time_us = 0;
  int32_t stack = -1;
  int32_t label = -1;
  bool before_recording = false;
};
using LiveBlocks = std::unordered_map<uint64_t, Live>;

// What was live before the first event: the final state with every event undone.
LiveBlocks live_before(const Snapshot& snapshot, size_t device) {
  LiveBlocks live;
  for (const Segment& segment : snapshot.segments) {
    if (segment.device != static_cast<int64_t>(device)) continue;
    for (const Block& block : segment.blocks) {
      if (block.state == BlockState::kInactive) continue;
      live[block.address] = {
          .size = block.requested_size, .stack = block.stack, .before_recording = true};
    }
  }
  const std::vector<TraceEvent>& trace = snapshot.device_traces[device];
  for (auto event = trace.rbegin(); event != trace.rend(); ++event) {
    if (event->action == TraceAction::kFreeCompleted) {
      // The event's stack is of the free; who allocated the block was not recorded.
      live[event->address] = {.size = event->size, .label = event->label, .before_recording = true};
    } else if (event->action == TraceAction::kAlloc) {
      live.erase(event->address);
    }
  }
  return live;
}

// Applies one event and returns by how much the live bytes change.
int64_t apply(const TraceEvent& event, LiveBlocks& live) {
  if (event.action == TraceAction::kAlloc) {
    Live& block = live[event.address];
    const int64_t change = event.size - block.size;
    block = {
        .size = event.size, .time_us = event.time_us, .stack = event.stack, .label = event.label};
    return change;
  }
  if (event.action == TraceAction::kFreeCompleted) {
    const auto block = live.find(event.address);
    if (block == live.end()) return 0;
    const int64_t size = block->second.size;
    live.erase(block);
    return -size;
  }
  return 0;
}

struct Peak {
  int64_t bytes = 0;
  int64_t event = -1;
};

Peak find_peak(const std::vector<TraceEvent>& trace, LiveBlocks live) {
  int64_t bytes = 0;
  for (const auto& [address, block] : live) bytes += block.size;
  Peak peak{.bytes = bytes};
  for (size_t i = 0; i < trace.size(); ++i) {
    bytes += apply(trace[i], live);
    if (bytes > peak.bytes) peak = {bytes, static_cast<int64_t>(i)};
  }
  return peak;
}

// "block 3" as "block": what the blocks have in common is one row.
std::string without_number(const std::string& name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end != std::string::npos && end + 1 < name.size() && name[end] == ' ';
  return numbered ? name.substr(0, end) : name;
}

// The innermost open annotation at every time.
class Phases {
 public:
  Phases(const std::vector<Annotation>& annotations, int64_t device) {
    std::vector<std::pair<int64_t, const Annotation*>> changes;
    for (const Annotation& annotation : annotations) {
      if (annotation.device >= 0 && annotation.device != device) continue;
      // What is allocated in the microsecond in which a phase ends still belongs to it.
      const bool stays_open = !annotation.is_start && annotation.time_us < INT64_MAX;
      changes.emplace_back(annotation.time_us + (stays_open ? 1 : 0), &annotation);
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    std::vector<std::string> open;
    for (const auto& [time_us, annotation] : changes) {
      if (annotation->is_start) {
        open.push_back(annotation->name);
      } else {
        const auto last = std::find(open.rbegin(), open.rend(), annotation->name);
        if (last != open.rend()) open.erase(std::next(last).base());
      }
      innermost_[time_us] = open.empty() ? "" : without_number(open.back());
    }
  }

  std::string at(int64_t time_us) const {
    const auto after = innermost_.upper_bound(time_us);
    return after == innermost_.begin() ? "" : std::prev(after)->second;
  }

 private:
  std::map<int64_t, std::string> innermost_;
};

// Past the bracket that closes the one at `open`.
size_t past_bracket(const std::string& name, size_t open, char begin, char end) {
  int depth = 0;
  for (size_t i = open; i < name.size(); ++i) {
    if (name[i] == begin) ++depth;
    if (name[i] == end && --depth == 0) return i + 1;
  }
  return name.size();
}

// "headroom::f<int>(at::Tensor const&)" -> "f": no arguments, no templates, no name space of ours.
// Names that are not C++ ("<module>") stay.
std::string short_name(const std::string& name) {
  if (name.empty() || name[0] == '<') return name;
  constexpr std::string_view kAnonymous = "(anonymous namespace)::";
  constexpr std::string_view kCallOperator = "operator()";
  constexpr std::string_view kOurs = "headroom::";
  const std::string_view view = name;
  std::string result;
  for (size_t i = 0; i < name.size();) {
    if (view.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
    } else if (view.substr(i).starts_with(kOurs)) {
      i += kOurs.size();
    } else if (view.substr(i).starts_with(kCallOperator)) {
      result += kCallOperator;
      i += kCallOperator.size();
    } else if (name[i] == '{') {  // {lambda(auto)#1}
      result += view.substr(i).starts_with("{lambda") ? "{lambda}" : "{}";
      i = past_bracket(name, i, '{', '}');
    } else if (name[i] == '<') {
      i = past_bracket(name, i, '<', '>');
    } else if (name[i] == '(') {
      break;
    } else {
      result += name[i++];
    }
  }
  const size_t space = result.rfind(' ');  // a return type in front
  return space == std::string::npos || space + 1 == result.size() ? result
                                                                  : result.substr(space + 1);
}

// "/any/where/model/attention.cpp" -> "model/attention.cpp"
std::string short_file(const std::string& path) {
  const size_t last = path.rfind('/');
  if (last == std::string::npos || last == 0) return path;
  const size_t before = path.rfind('/', last - 1);
  return before == std::string::npos ? path : path.substr(before + 1);
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

// Frames with a source line that is neither libtorch's, nor the compiler's, nor of the recorder.
bool is_ours(const Frame& frame) {
  if (frame.filename.empty() || frame.filename == "??" || frame.line <= 0) return false;
  for (const char* part : {"/include/torch/", "torch/csrc/", "/ATen/", "/c10/", "/include/c++/",
                           "/usr/include/", "/sysdeps/", "/csu/", "/site-packages/"}) {
    if (contains(frame.filename, part)) return false;
  }
  for (const char* prefix : {"aten/", "c10/"}) {
    if (frame.filename.starts_with(prefix)) return false;
  }
  // C, where we write C++ and others Python: the C library and the Python interpreter.
  if (frame.filename.ends_with(".c") || frame.filename.ends_with(".S")) return false;
  if (contains(frame.filename, "/pycore_")) return false;
  return !short_file(frame.filename).starts_with("profiling/");  // the recorder itself
  return true;
}

// The operator or autograd node a libtorch frame stands for: "aten::mm", "MmBackward0"; else "".
std::string operator_name(const std::string& name) {
  const size_t ops = name.find("at::_ops::");
  if (ops != std::string::npos) {
    const size_t begin = ops + 10;
    const size_t end = name.find("::", begin);
    return end == std::string::npos ? "" : "aten::" + name.substr(begin, end - begin);
  }
  const size_t apply = name.find("::apply(");
  const bool is_node = contains(name, "Backward") || contains(name, "::AccumulateGrad::");
  if (apply != std::string::npos && is_node) {
    const size_t begin = name.rfind("::", apply - 1);
    return begin == std::string::npos ? name.substr(0, apply)
                                      : name.substr(begin + 2, apply - begin - 2);
  }
  return "";
}

// Outermost first, at most the two outermost and the innermost: "aten::linear > aten::addmm".
std::string join_operators(const std::vector<std::string>& innermost_first) {
  std::vector<std::string> chain(innermost_first.rbegin(), innermost_first.rend());
  chain.erase(std::unique(chain.begin(), chain.end()), chain.end());
  if (chain.size() > 4) chain = {chain[0], chain[1], "...", chain.back()};
  return join(chain, " > ");
}

// "gradients: lm_head.weight" as "gradients": tensors of one kind are one row.
std::string purpose_of(const std::string& words) { return words.substr(0, words.find(": ")); }

// By its label, or by the frame that names a block from before the recording.
std::string purpose_of(const Snapshot& snapshot, const Live& block) {
  if (block.label >= 0) return purpose_of(snapshot.labels[static_cast<size_t>(block.label)]);
  if (block.stack < 0) return "";
  const auto& stack = snapshot.stacks[static_cast<size_t>(block.stack)];
  if (stack.empty()) return "";
  const Frame& frame = snapshot.frames[static_cast<size_t>(stack.front())];
  return frame.is_before_recording() ? purpose_of(frame.name) : "";
}

using GroupKey = std::tuple<int64_t, bool, std::string, std::string, std::vector<std::string>>;

}  // namespace

std::vector<std::string> readable_stack(const Snapshot& snapshot, int32_t stack) {
  std::vector<std::string> lines;
  if (stack < 0) return lines;
  std::vector<std::string> operators;
  std::string first_foreign;
  for (const int32_t index : snapshot.stacks[static_cast<size_t>(stack)]) {
    const Frame& frame = snapshot.frames[static_cast<size_t>(index)];
    if (frame.is_before_recording()) continue;
    if (is_ours(frame)) {
      std::string line = short_file(frame.filename) + ":" + std::to_string(frame.line) + " " +
                         short_name(frame.name);
      if (lines.empty() || lines.back() != line) lines.push_back(std::move(line));
      continue;
    }
    const std::string name = operator_name(frame.name);
    if (!name.empty()) operators.push_back(name);
    if (first_foreign.empty()) first_foreign = short_name(frame.name);
  }
  if (!operators.empty()) {
    lines.push_back("libtorch: " + join_operators(operators));
  } else if (lines.empty() && !first_foreign.empty()) {
    lines.push_back(first_foreign);
  }
  return lines;
}

PeakReport largest_allocations(const Snapshot& snapshot, size_t limit) {
  PeakReport report;
  LiveBlocks live;
  for (size_t device = 0; device < snapshot.device_traces.size(); ++device) {
    LiveBlocks before = live_before(snapshot, device);
    const Peak peak = find_peak(snapshot.device_traces[device], before);
    if (peak.bytes <= report.peak_bytes) continue;
    report = {
        .device = static_cast<int64_t>(device), .peak_bytes = peak.bytes, .event = peak.event};
    live = std::move(before);
  }
  if (report.peak_bytes == 0) return report;

  const std::vector<TraceEvent>& trace = snapshot.device_traces[static_cast<size_t>(report.device)];
  for (int64_t i = 0; i <= report.event; ++i) apply(trace[static_cast<size_t>(i)], live);
  const Phases phases(snapshot.annotations, report.device);
  report.events = static_cast<int64_t>(trace.size());
  report.live_count = static_cast<int64_t>(live.size());
  if (report.event >= 0) {
    report.time_us = trace[static_cast<size_t>(report.event)].time_us;
    report.phase = phases.at(report.time_us);
  }

  std::unordered_map<int32_t, std::vector<std::string>> readable;
  std::map<GroupKey, int64_t> groups;
  for (const auto& [address, block] : live) {
    if (block.before_recording) report.before_recording_bytes += block.size;
    auto stack = readable.find(block.stack);
    if (stack == readable.end()) {
      stack = readable.emplace(block.stack, readable_stack(snapshot, block.stack)).first;
    }
    ++groups[{-block.size, block.before_recording,
              block.before_recording ? "" : phases.at(block.time_us), purpose_of(snapshot, block),
              stack->second}];
  }
  for (const auto& [key, count] : groups) {  // ordered by size, the largest first
    if (limit != 0 && report.rows.size() == limit) break;
    const auto& [negative_size, before_recording, phase, purpose, stack] = key;
    const int64_t bytes = -negative_size * count;
    report.listed_bytes += bytes;
    report.rows.push_back(
        {.size = -negative_size,
         .count = count,
         .share = static_cast<double>(bytes) / static_cast<double>(report.peak_bytes),
         .phase = phase,
         .before_recording = before_recording,
         .purpose = purpose,
         .stack = stack});
  }
  return report;
}

}  // namespace headroom
