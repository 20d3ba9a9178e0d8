#include "profiling/snapshot/read.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <new>
#include <optional>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "files/byte_reader.h"
#include "files/first_byte.h"
#include "profiling/snapshot/pickle/fields.h"

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

// Turns the generic values into a Snapshot. The format fixes the depth, so lists that contain
// themselves are harmless.
//
// Note [Events are taken while the file is read]
// Rationale: the events are almost the whole file, and a generic value of one takes six times its
//   memory.
// Approach: the reader gives each event's dict when it is complete. It is converted, and the dict
//   is emptied; its number is kept under the number of its dict. Later the trace's list says which
//   events it has, in which order; mostly those that were taken.
// Limits: an event that is no item of a batch when its dict is complete is converted at the end.
class SnapshotConverter : public EventTaker {
 public:
  SnapshotConverter(const Pickle& pickle, SnapshotFile& out)
      : pickle_(pickle), out_(out), snapshot_(out.snapshot), fields_(pickle) {}

  void take_event(size_t device, size_t entry, const Value& dict) override {
    fields_.enter("device_traces", static_cast<int64_t>(device), static_cast<int64_t>(entry));
    int32_t& known = known_of(event_of_dict_, dict.index);
    known = kSkipped;
    const std::optional<TraceEvent> event = read_event(dict);
    if (!event) return;
    known = taken_++;
    // A device's events come one after another.
    while (first_of_device_.size() <= device) first_of_device_.push_back(known);
    snapshot_.device_traces.resize(first_of_device_.size());
    snapshot_.device_traces[device].push_back(*event);
  }

  // After the file was read.
  void run() {
    const Value& root = pickle_.root();
    if (root.kind != PickleKind::kDict) {
      fields_.fail("the pickle is no dict; a snapshot has segments and device_traces");
    }
    for (const char* key : {"segments", "device_traces"}) {
      if (fields_.find(root, key) != nullptr) continue;
      fields_.fail(std::string("key '") + key + "' is missing");
    }
    fields_.enter("segments");
    for (const Value& segment : fields_.list(root, "segments")) {
      snapshot_.segments.push_back(read_segment(segment));
    }
    read_traces(fields_.list(root, "device_traces"));
    read_settings(root);
    fields_.enter("external_annotations");
    for (const Value& annotation : fields_.list(root, "external_annotations")) {
      snapshot_.annotations.push_back(read_annotation(annotation));
    }
    if (category_seen_ && !unknown_category_seen_) {
      fields_.note(true, "entries have a category but none is 'unknown', which stops the viewer");
    }
    out_.problems = fields_.problems();
  }

 private:
  static constexpr int32_t kUnknown = -2;
  static constexpr int32_t kSkipped = -1;

  // The entry of a container, which may have been read after the last one was asked for.
  int32_t& known_of(std::vector<int32_t>& all, uint32_t container) const {
    if (container >= all.size()) all.resize(pickle_.container_count(), kUnknown);
    return all[container];
  }

  int32_t read_frame(const Value& value) {
    fields_.expect_dict(value, "a frame");
    int32_t& known = known_of(frame_of_dict_, value.index);
    if (known != kUnknown) return known;
    Frame frame{.name = fields_.text(value, "name", Need::kNeeded),
                .filename = fields_.text(value, "filename", Need::kNeeded),
                .line = fields_.shown_number(value, "line")};
    const std::string identity =
        frame.name + '\n' + frame.filename + '\n' + std::to_string(frame.line);
    const auto [same, is_new] =
        frame_index_.emplace(identity, static_cast<int32_t>(snapshot_.frames.size()));
    if (is_new) snapshot_.frames.push_back(std::move(frame));
    known = same->second;
    return known;
  }

  int32_t read_stack(const Value& dict) {
    const Value* value = fields_.find(dict, "frames");
    if (value == nullptr) return -1;
    const std::vector<Value>& frames = fields_.list(dict, "frames");
    if (frames.empty()) return -1;
    int32_t& known = known_of(stack_of_list_, value->index);
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
    fields_.expect_dict(value, "an entry");
    Block block{.size = fields_.bytes(value, "size", Need::kNeeded)};
    // Older files give a block no address: it follows the previous block.
    block.address = fields_.find(value, "address") == nullptr
                        ? default_address
                        : fields_.address(value, "address", Need::kOptional);
    const bool has_frames = fields_.find(value, "frames") != nullptr;
    block.requested_size = fields_.number(value, "requested_size",
                                          has_frames ? Need::kNeeded : Need::kOptional, block.size);
    block.stack = read_stack(value);
    const std::string state = fields_.text(value, "state", Need::kNeeded, "inactive");
    if (state == "active_allocated") {
      block.state = BlockState::kActiveAllocated;
    } else if (state == "active_pending_free" || state == "active_awaiting_free") {
      block.state = BlockState::kActivePendingFree;
    } else {
      block.state = BlockState::kInactive;
      if (state != "inactive") {
        fields_.note(true, "unknown block state '" + state.substr(0, 40) + "'");
      }
    }
    return block;
  }

  Segment read_segment(const Value& value) {
    fields_.expect_dict(value, "an entry");
    Segment segment{.device = fields_.number(value, "device", Need::kNeeded),
                    .address = fields_.address(value, "address", Need::kNeeded),
                    .total_size = fields_.bytes(value, "total_size", Need::kNeeded)};
    segment.allocated_size = fields_.number(value, "allocated_size", Need::kOptional);
    segment.active_size = fields_.number(value, "active_size", Need::kOptional);
    segment.requested_size = fields_.number(value, "requested_size", Need::kOptional);
    segment.stream = fields_.address(value, "stream", Need::kNeeded);
    segment.is_large = fields_.text(value, "segment_type", Need::kOptional, "large") == "large";
    segment.is_expandable = fields_.number(value, "is_expandable", Need::kOptional) != 0;
    const std::vector<Value>& pool = fields_.list(value, "segment_pool_id");
    for (size_t i = 0; i < pool.size() && i < 2; ++i) {
      if (pool[i].kind == PickleKind::kInteger) segment.pool_id[i] = pool[i].integer;
    }
    segment.stack = read_stack(value);
    if (fields_.find(value, "blocks") == nullptr) fields_.note(true, "key 'blocks' is missing");
    uint64_t next = segment.address;
    for (const Value& block : fields_.list(value, "blocks")) {
      segment.blocks.push_back(read_block(block, next));
      next += static_cast<uint64_t>(segment.blocks.back().size);
    }
    return segment;
  }

  // The events of the list, in its order. Mostly they are those that were taken.
  void read_traces(const std::vector<Value>& traces) {
    std::vector<std::vector<TraceEvent>> others(traces.size());
    std::vector<bool> is_other(traces.size());
    first_of_device_.resize(traces.size() + 1, taken_);
    for (size_t device = 0; device < traces.size(); ++device) {
      fields_.enter("device_traces", static_cast<int64_t>(device));
      const std::vector<Value>& items = fields_.items(traces[device], "the trace");
      is_other[device] = !are_as_taken(items, device);
      if (is_other[device]) others[device] = read_trace(items);
    }
    snapshot_.device_traces.resize(traces.size());
    for (size_t device = 0; device < traces.size(); ++device) {
      if (is_other[device]) snapshot_.device_traces[device] = std::move(others[device]);
    }
  }

  bool are_as_taken(const std::vector<Value>& items, size_t device) {
    int32_t expected = first_of_device_[device];
    if (first_of_device_[device + 1] - expected != std::ssize(items)) return false;
    return std::all_of(items.begin(), items.end(), [&](const Value& item) {
      return item.kind == PickleKind::kDict && known_of(event_of_dict_, item.index) == expected++;
    });
  }

  std::vector<TraceEvent> read_trace(const std::vector<Value>& items) {
    std::vector<TraceEvent> events;
    for (const Value& value : items) {
      fields_.next_entry();
      fields_.expect_dict(value, "an entry");
      const int32_t known = known_of(event_of_dict_, value.index);
      if (known >= 0) {
        events.push_back(taken_event(known));
      } else if (known == kUnknown) {
        if (const std::optional<TraceEvent> event = read_event(value)) events.push_back(*event);
      }
    }
    return events;
  }

  const TraceEvent& taken_event(int32_t number) const {
    const auto after =
        std::upper_bound(first_of_device_.begin(), first_of_device_.end() - 1, number);
    const auto device = static_cast<size_t>(after - first_of_device_.begin()) - 1;
    return snapshot_.device_traces[device][static_cast<size_t>(number - first_of_device_[device])];
  }

  // std::nullopt for an action that is not known.
  std::optional<TraceEvent> read_event(const Value& value) {
    TraceEvent event;
    const std::string word = fields_.text(value, "action", Need::kNeeded, "none");
    if (!from_string(word, &event.action)) {
      fields_.note(true, "unknown action '" + word.substr(0, 40) + "'");
      return std::nullopt;
    }
    const bool is_oom = event.action == TraceAction::kOom;
    const Need need = event.action == TraceAction::kSnapshot ? Need::kOptional : Need::kNeeded;
    event.address = fields_.address(value, is_oom ? "device_free" : "addr", need);
    event.size = fields_.bytes(value, "size", need);
    event.stream = fields_.address(value, "stream", need);
    event.time_us = fields_.number(value, "time_us", Need::kOptional);
    event.stack = read_stack(value);
    event.label = read_label(value);
    read_category(value);
    return event;
  }

  // The text that the program attached to an event. Other types, possible in Python, are ignored.
  int32_t read_label(const Value& event) {
    const Value* value = fields_.find(event, "user_metadata");
    if (value == nullptr || value->kind != PickleKind::kText) return -1;
    const auto known = label_index_.find(value->index);
    if (known != label_index_.end()) return known->second;
    std::string text = pickle_.text(value->index);
    int32_t label = -1;
    if (!text.empty()) {
      label = static_cast<int32_t>(snapshot_.labels.size());
      snapshot_.labels.push_back(std::move(text));
    }
    label_index_.emplace(value->index, label);
    return label;
  }

  void read_category(const Value& event) {
    const Value* category = fields_.find(event, "category");
    if (category == nullptr) return;
    category_seen_ = true;
    unknown_category_seen_ |=
        category->kind == PickleKind::kText && pickle_.text(category->index) == "unknown";
  }

  Annotation read_annotation(const Value& value) {
    fields_.expect_dict(value, "an entry");
    return {.name = fields_.text(value, "name", Need::kNeeded),
            .is_start = fields_.text(value, "stage", Need::kNeeded) == "START",
            .device = fields_.number(value, "device", Need::kOptional),
            .time_us = fields_.number(value, "time_us", Need::kNeeded)};
  }

  void read_settings(const Value& root) {
    fields_.enter("allocator_settings");
    const Value* value = fields_.find(root, "allocator_settings");
    if (value == nullptr) return fields_.note(false, "no allocator_settings: that tab stays empty");
    AllocatorSettings& settings = snapshot_.settings;
    settings.alloc_conf = fields_.text(*value, "PYTORCH_CUDA_ALLOC_CONF", Need::kOptional);
    settings.max_split_size = fields_.number(*value, "max_split_size", Need::kOptional, -1);
    const Value* threshold = fields_.find(*value, "garbage_collection_threshold");
    if (threshold != nullptr && threshold->kind == PickleKind::kReal) {
      settings.garbage_collection_threshold = threshold->real;
    }
    settings.expandable_segments =
        fields_.number(*value, "expandable_segments", Need::kOptional) != 0;
    settings.pinned_num_register_threads =
        fields_.number(*value, "pinned_num_register_threads", Need::kOptional, 1);
    settings.release_lock_on_cudamalloc =
        fields_.number(*value, "release_lock_on_cudamalloc", Need::kOptional) != 0;
    settings.pinned_use_cuda_host_register =
        fields_.number(*value, "pinned_use_cuda_host_register", Need::kOptional) != 0;
    settings.graph_capture_record_stream_reuse =
        fields_.number(*value, "graph_capture_record_stream_reuse", Need::kOptional) != 0;
    const Value* divisions = fields_.find(*value, "roundup_power2_divisions");
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
  SnapshotFields fields_;
  std::vector<int32_t> stack_of_list_;
  std::vector<int32_t> frame_of_dict_;
  std::vector<int32_t> event_of_dict_;
  int32_t taken_ = 0;                     // events
  std::vector<int32_t> first_of_device_;  // number of its first event
  std::unordered_map<std::string, int32_t> frame_index_;
  std::unordered_map<std::vector<int32_t>, int32_t, StackHash> stack_index_;
  std::unordered_map<uint32_t, int32_t> label_index_;  // by text
  bool category_seen_ = false;
  bool unknown_category_seen_ = false;
};

// No viewer opens a larger one, and values are numbered with 32 bits.
constexpr int64_t kMostBytes = int64_t{4} << 30;

SnapshotFile read_snapshot_of(ByteReader& bytes) {
  Pickle pickle;
  SnapshotFile file;
  SnapshotConverter converter(pickle, file);
  pickle.read(bytes, &converter);
  file.facts = pickle.facts();
  converter.run();
  return file;
}

}  // namespace

bool is_snapshot(const std::string& path) {
  constexpr char kProtocol = '\x80';
  return first_byte(path) == kProtocol || path.ends_with(".pickle");
}

SnapshotFile parse_snapshot(std::string_view bytes) {
  ByteReader reader(bytes);
  return read_snapshot_of(reader);
}

SnapshotFile read_snapshot_file(const std::string& path) {
  try {
    ByteReader reader(path, kMostBytes);
    return read_snapshot_of(reader);
  } catch (const PickleError& error) {
    throw std::runtime_error(path + ": " + error.what());
  } catch (const std::bad_alloc&) {
    throw std::runtime_error(path + ": not enough memory to read it");
  }
}

Snapshot read_snapshot(const std::string& path) { return read_snapshot_file(path).snapshot; }

}  // namespace headroom
