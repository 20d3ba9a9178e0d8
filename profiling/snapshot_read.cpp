#include "profiling/snapshot_read.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <map>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace headroom {
namespace {

using Value = PickleValue;

struct StackHash {
  size_t operator()(const std::vector<int32_t>& stack) const {
    size_t hash = stack.size();
    for (const int32_t frame : stack) hash = hash * 1099511628211U + static_cast<uint32_t>(frame);
    return hash;
  }
};

// Turns the generic values into a Snapshot. Depth is fixed by what a snapshot is, so lists that
// contain themselves are harmless; `budget_` stops a short file that names one list many times.
class SnapshotConverter {
 public:
  SnapshotConverter(const Pickle& pickle, SnapshotFile& out)
      : pickle_(pickle),
        out_(out),
        snapshot_(out.snapshot),
        budget_(pickle.facts().bytes),
        stack_of_list_(pickle.container_count(), kUnknown),
        frame_of_dict_(pickle.container_count(), kUnknown) {}

  void run() {
    const Value& root = pickle_.root();
    if (root.kind != PickleKind::kDict) {
      fail("the pickle is no dict; a snapshot has segments and device_traces");
    }
    for (const char* key : {"segments", "device_traces"}) {
      if (find(root, key) == nullptr) fail(std::string("key '") + key + "' is missing");
    }
    where_ = "segments";
    for (const Value& segment : list(root, "segments")) {
      snapshot_.segments.push_back(read_segment(segment));
    }
    for (const Value& trace : list(root, "device_traces")) {
      ++device_;
      read_trace(trace);
    }
    device_ = event_ = -1;
    read_settings(root);
    where_ = "external_annotations";
    for (const Value& annotation : list(root, "external_annotations")) {
      snapshot_.annotations.push_back(read_annotation(annotation));
    }
    if (category_seen_ && !unknown_category_seen_) {
      note(true, "entries have a category but none is 'unknown', which stops the viewer");
    }
    for (const auto& [text, found] : notes_) {
      std::string line = text;
      if (found.count > 1) line += " " + std::to_string(found.count) + " times";
      if (!found.first.empty()) line += ", " + found.first;
      out_.problems.push_back({found.is_error, std::move(line)});
    }
  }

 private:
  static constexpr int32_t kUnknown = -2;

  struct Note {
    bool is_error = true;
    int64_t count = 0;
    std::string first;  // where it was first met
  };

  std::string position() const {
    std::string text = where_;
    if (device_ >= 0) text += " of device " + std::to_string(device_);
    if (event_ >= 0) text += ", entry " + std::to_string(event_);
    return text;
  }
  [[noreturn]] void fail(const std::string& problem) const {
    throw PickleError(problem + (where_.empty() ? "" : ", in " + position()));
  }
  void note(bool is_error, const std::string& text) {
    Note& entry = notes_[text];
    entry.is_error = is_error;
    if (entry.count++ == 0) entry.first = where_.empty() ? "" : "first: " + position();
  }
  void spend() {
    if (budget_-- == 0) fail("the same list is repeated more often than a real snapshot would");
  }

  // `key` is a literal: it is remembered by address of its text. nullptr where the file never
  // mentions the name.
  const Value* find(const Value& dict, const char* key) {
    auto known = key_index_.find(key);
    if (known == key_index_.end()) {
      known = key_index_.emplace(key, pickle_.find_text(key)).first;
    }
    return known->second ? pickle_.find(dict, *known->second) : nullptr;
  }

  const std::vector<Value>& list(const Value& dict, const char* key) {
    static const std::vector<Value> nothing;
    const Value* value = find(dict, key);
    if (value == nullptr) return nothing;
    if (value->kind != PickleKind::kList && value->kind != PickleKind::kTuple) {
      fail(std::string("'") + key + "' is not a list");
    }
    return pickle_.items(*value);
  }

  enum class Need { kOptional, kNeeded };

  int64_t number(const Value& dict, const char* key, Need need, int64_t fallback = 0) {
    const Value* value = find(dict, key);
    if (value == nullptr || value->kind == PickleKind::kNone) {
      if (need == Need::kNeeded) note(true, std::string("key '") + key + "' is missing");
      return fallback;
    }
    switch (value->kind) {
      case PickleKind::kInteger:
      case PickleKind::kBigInteger:
      case PickleKind::kBool:
        return value->integer;
      case PickleKind::kReal:
        if (value->real > -9.0e18 && value->real < 9.0e18) {
          return static_cast<int64_t>(value->real);
        }
        [[fallthrough]];
      default:
        fail(std::string("'") + key + "' is not a whole number");
    }
  }
  // Bytes of an entry. All of a file together stay below 2^62, so no sum of them overflows.
  int64_t bytes(const Value& dict, const char* key, Need need, int64_t fallback = 0) {
    const int64_t size = number(dict, key, need, fallback);
    if (size < 0) {
      note(true, std::string("'") + key + "' is negative");
      return 0;
    }
    if (size > (int64_t{1} << 62) - all_bytes_) fail("the sizes add up to more than 2^62 bytes");
    all_bytes_ += size;
    return size;
  }
  uint64_t address(const Value& dict, const char* key, Need need) {
    return static_cast<uint64_t>(number(dict, key, need));
  }

  std::string text(const Value& dict, const char* key, Need need, const char* fallback = "") {
    const Value* value = find(dict, key);
    if (value != nullptr && value->kind == PickleKind::kText) return pickle_.text(value->index);
    if (value != nullptr && value->kind != PickleKind::kNone) {
      fail(std::string("'") + key + "' is not text");
    }
    if (need == Need::kNeeded) note(true, std::string("key '") + key + "' is missing");
    return fallback;
  }

  void expect_dict(const Value& value) {
    if (value.kind != PickleKind::kDict) fail("an entry is no dict");
    spend();
  }

  int32_t read_frame(const Value& value) {
    spend();
    if (value.kind != PickleKind::kDict) fail("a frame is no dict");
    int32_t& known = frame_of_dict_[value.index];
    if (known != kUnknown) return known;
    Frame frame{.name = text(value, "name", Need::kNeeded),
                .filename = text(value, "filename", Need::kNeeded),
                .line = number(value, "line", Need::kOptional)};
    const std::string identity =
        frame.name + '\n' + frame.filename + '\n' + std::to_string(frame.line);
    const auto [same, is_new] =
        frame_index_.emplace(identity, static_cast<int32_t>(snapshot_.frames.size()));
    if (is_new) snapshot_.frames.push_back(std::move(frame));
    known = same->second;
    return known;
  }

  int32_t read_stack(const Value& dict) {
    const Value* value = find(dict, "frames");
    if (value == nullptr) return -1;
    const std::vector<Value>& frames = list(dict, "frames");
    if (frames.empty()) return -1;
    int32_t& known = stack_of_list_[value->index];
    if (known != kUnknown) return known;
    std::vector<int32_t> stack;
    stack.reserve(frames.size());
    for (const Value& frame : frames) stack.push_back(read_frame(frame));
    const auto [same, is_new] =
        stack_index_.emplace(stack, static_cast<int32_t>(snapshot_.stacks.size()));
    if (is_new) snapshot_.stacks.push_back(std::move(stack));
    known = same->second;
    return known;
  }

  Block read_block(const Value& value, uint64_t default_address) {
    expect_dict(value);
    Block block{.size = bytes(value, "size", Need::kNeeded)};
    // Older files give a block no address: it lies after the one before.
    block.address = find(value, "address") == nullptr ? default_address
                                                      : address(value, "address", Need::kOptional);
    const bool has_frames = find(value, "frames") != nullptr;
    block.requested_size =
        number(value, "requested_size", has_frames ? Need::kNeeded : Need::kOptional, block.size);
    block.stack = read_stack(value);
    const std::string state = text(value, "state", Need::kNeeded, "inactive");
    if (state == "active_allocated") {
      block.state = BlockState::kActiveAllocated;
    } else if (state == "active_pending_free" || state == "active_awaiting_free") {
      block.state = BlockState::kActivePendingFree;
    } else {
      block.state = BlockState::kInactive;
      if (state != "inactive") note(true, "unknown block state '" + state.substr(0, 40) + "'");
    }
    return block;
  }

  Segment read_segment(const Value& value) {
    expect_dict(value);
    Segment segment{.device = number(value, "device", Need::kNeeded),
                    .address = address(value, "address", Need::kNeeded),
                    .total_size = bytes(value, "total_size", Need::kNeeded)};
    segment.allocated_size = number(value, "allocated_size", Need::kOptional);
    segment.active_size = number(value, "active_size", Need::kOptional);
    segment.requested_size = number(value, "requested_size", Need::kOptional);
    segment.stream = address(value, "stream", Need::kNeeded);
    segment.is_large = text(value, "segment_type", Need::kOptional, "large") == "large";
    segment.is_expandable = number(value, "is_expandable", Need::kOptional) != 0;
    const std::vector<Value>& pool = list(value, "segment_pool_id");
    for (size_t i = 0; i < pool.size() && i < 2; ++i) {
      if (pool[i].kind == PickleKind::kInteger) segment.pool_id[i] = pool[i].integer;
    }
    segment.stack = read_stack(value);
    if (find(value, "blocks") == nullptr) note(true, "key 'blocks' is missing");
    uint64_t next = segment.address;
    for (const Value& block : list(value, "blocks")) {
      segment.blocks.push_back(read_block(block, next));
      next += static_cast<uint64_t>(segment.blocks.back().size);
    }
    return segment;
  }

  void read_trace(const Value& trace) {
    where_ = "device_traces";
    event_ = -1;
    if (trace.kind != PickleKind::kList && trace.kind != PickleKind::kTuple) {
      fail("the trace is not a list");
    }
    std::vector<TraceEvent>& events = snapshot_.device_traces.emplace_back();
    for (const Value& value : pickle_.items(trace)) {
      ++event_;
      expect_dict(value);
      TraceEvent event;
      const std::string word = text(value, "action", Need::kNeeded, "none");
      if (!from_string(word, &event.action)) {
        note(true, "unknown action '" + word.substr(0, 40) + "'");
        continue;
      }
      const bool is_oom = event.action == TraceAction::kOom;
      const Need need = event.action == TraceAction::kSnapshot ? Need::kOptional : Need::kNeeded;
      event.address = address(value, is_oom ? "device_free" : "addr", need);
      event.size = bytes(value, "size", need);
      event.stream = address(value, "stream", need);
      event.time_us = number(value, "time_us", Need::kOptional);
      event.stack = read_stack(value);
      read_category(value);
      events.push_back(event);
    }
  }

  void read_category(const Value& event) {
    const Value* category = find(event, "category");
    if (category == nullptr) return;
    category_seen_ = true;
    unknown_category_seen_ |=
        category->kind == PickleKind::kText && pickle_.text(category->index) == "unknown";
  }

  Annotation read_annotation(const Value& value) {
    expect_dict(value);
    return {.name = text(value, "name", Need::kNeeded),
            .is_start = text(value, "stage", Need::kNeeded) == "START",
            .device = number(value, "device", Need::kOptional),
            .time_us = number(value, "time_us", Need::kNeeded)};
  }

  void read_settings(const Value& root) {
    where_ = "allocator_settings";
    const Value* value = find(root, "allocator_settings");
    if (value == nullptr) return note(false, "no allocator_settings: that tab stays empty");
    AllocatorSettings& settings = snapshot_.settings;
    settings.alloc_conf = text(*value, "PYTORCH_CUDA_ALLOC_CONF", Need::kOptional);
    settings.max_split_size = number(*value, "max_split_size", Need::kOptional, -1);
    const Value* threshold = find(*value, "garbage_collection_threshold");
    if (threshold != nullptr && threshold->kind == PickleKind::kReal) {
      settings.garbage_collection_threshold = threshold->real;
    }
    settings.expandable_segments = number(*value, "expandable_segments", Need::kOptional) != 0;
    settings.pinned_num_register_threads =
        number(*value, "pinned_num_register_threads", Need::kOptional, 1);
    settings.release_lock_on_cudamalloc =
        number(*value, "release_lock_on_cudamalloc", Need::kOptional) != 0;
    settings.pinned_use_cuda_host_register =
        number(*value, "pinned_use_cuda_host_register", Need::kOptional) != 0;
    settings.graph_capture_record_stream_reuse =
        number(*value, "graph_capture_record_stream_reuse", Need::kOptional) != 0;
    const Value* divisions = find(*value, "roundup_power2_divisions");
    if (divisions == nullptr) return;
    for (size_t i = 0; i < settings.roundup_power2_divisions.size(); ++i) {
      const auto name = pickle_.find_text(std::to_string(int64_t{1} << i));
      const Value* division = name ? pickle_.find(*divisions, *name) : nullptr;
      if (division != nullptr && division->kind == PickleKind::kInteger) {
        settings.roundup_power2_divisions[i] = division->integer;
      }
    }
  }

  const Pickle& pickle_;
  SnapshotFile& out_;
  Snapshot& snapshot_;
  uint64_t budget_;  // entries still allowed
  std::vector<int32_t> stack_of_list_;
  std::vector<int32_t> frame_of_dict_;
  std::unordered_map<std::string, int32_t> frame_index_;
  std::unordered_map<std::vector<int32_t>, int32_t, StackHash> stack_index_;
  std::unordered_map<std::string_view, std::optional<uint32_t>> key_index_;
  std::map<std::string, Note> notes_;
  std::string where_;
  int64_t all_bytes_ = 0;
  int64_t device_ = -1;
  int64_t event_ = -1;
  bool category_seen_ = false;
  bool unknown_category_seen_ = false;
};

std::string read_bytes(const std::string& path) {
  const auto fail = [&](const std::string& reason) {
    throw std::runtime_error("cannot read " + path + ": " + reason);
  };
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) fail(std::generic_category().message(errno));
  struct stat status {};
  std::string bytes;
  std::string problem;
  if (fstat(descriptor, &status) != 0 || !S_ISREG(status.st_mode)) {
    problem = S_ISDIR(status.st_mode) ? "it is a directory" : "it is not a regular file";
  } else {
    bytes.resize(static_cast<size_t>(status.st_size));
    size_t filled = 0;
    while (filled < bytes.size()) {
      const ssize_t got = read(descriptor, bytes.data() + filled, bytes.size() - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) problem = std::generic_category().message(errno);
      if (got <= 0) break;
      filled += static_cast<size_t>(got);
    }
    bytes.resize(filled);
  }
  close(descriptor);
  if (!problem.empty()) fail(problem);
  return bytes;
}

}  // namespace

SnapshotFile parse_snapshot(std::string_view bytes) {
  const Pickle pickle(bytes);
  SnapshotFile file;
  file.facts = pickle.facts();
  SnapshotConverter(pickle, file).run();
  return file;
}

SnapshotFile read_snapshot_file(const std::string& path) {
  try {
    return parse_snapshot(read_bytes(path));
  } catch (const PickleError& error) {
    throw std::runtime_error(path + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(path + ": not enough memory to read it");
  }
}

Snapshot read_snapshot(const std::string& path) { return read_snapshot_file(path).snapshot; }

}  // namespace headroom
