#include "profiling/snapshot/write.h"

#include <array>
#include <cstdint>
#include <vector>

#include "files/replace_file.h"
#include "profiling/snapshot/pickle/pickle_write.h"

namespace headroom {
namespace {

constexpr uint32_t kNotWritten = UINT32_MAX;

class SnapshotWriter {
 public:
  SnapshotWriter(const Snapshot& snapshot, ReplaceFile& file)
      : snapshot_(snapshot),
        out_(file),
        frame_memo_(snapshot.frames.size(), kNotWritten),
        stack_memo_(snapshot.stacks.size(), kNotWritten) {
    for (int i = 0; i < static_cast<int>(action_words_.size()); ++i) {
      action_words_[i] = out_.intern(to_string(static_cast<TraceAction>(i)));
    }
  }

  void run() {
    out_.begin_dict();
    out_.key(out_.intern("segments"));
    out_.begin_list();
    for (const Segment& segment : snapshot_.segments) {
      out_.item();
      write(segment);
    }
    out_.end_list();
    out_.key(out_.intern("device_traces"));
    out_.begin_list();
    for (const std::vector<TraceEvent>& trace : snapshot_.device_traces) {
      out_.item();
      out_.begin_list();
      for (const TraceEvent& event : trace) {
        out_.item();
        write(event);
      }
      out_.end_list();
    }
    out_.end_list();
    out_.key(out_.intern("allocator_settings"));
    write(snapshot_.settings);
    out_.key(out_.intern("external_annotations"));
    out_.begin_list();
    for (const Annotation& annotation : snapshot_.annotations) {
      out_.item();
      write(annotation);
    }
    out_.end_list();
    out_.end_dict();
    out_.finish();
  }

 private:
  using Text = PickleWriter::Text;

  void entry(Text key, int64_t value) {
    out_.key(key);
    out_.write(value);
  }
  void entry(Text key, uint64_t value) {
    out_.key(key);
    out_.write_unsigned(value);
  }
  void entry(Text key, bool value) {
    out_.key(key);
    out_.write(value);
  }
  void text_entry(Text key, Text value) {
    out_.key(key);
    out_.write_text(value);
  }

  void write_frame(int32_t index) {
    uint32_t& memo = frame_memo_[index];
    if (memo != kNotWritten) return out_.write_reference(memo);
    const Frame& frame = snapshot_.frames[index];
    out_.begin_dict();
    text_entry(name_, out_.intern(frame.name));
    text_entry(filename_, out_.intern(frame.filename));
    entry(line_, frame.line);
    out_.end_dict();
    memo = out_.memoize();
  }

  // Many events share a stack: its list is written once.
  void write_stack(int32_t index) {
    if (index < 0) {
      out_.begin_list();
      return out_.end_list();
    }
    uint32_t& memo = stack_memo_[index];
    if (memo != kNotWritten) return out_.write_reference(memo);
    out_.begin_list();
    memo = out_.memoize();
    for (const int32_t frame : snapshot_.stacks[index]) {
      out_.item();
      write_frame(frame);
    }
    out_.end_list();
  }

  void write(const Block& block) {
    out_.begin_dict();
    entry(address_, block.address);
    entry(size_, block.size);
    entry(requested_size_, block.requested_size);
    text_entry(state_, block.state == BlockState::kActiveAllocated     ? active_allocated_
                       : block.state == BlockState::kActivePendingFree ? active_pending_free_
                                                                       : inactive_);
    out_.key(frames_);
    write_stack(block.stack);
    out_.end_dict();
  }

  void write(const Segment& segment) {
    out_.begin_dict();
    entry(device_, segment.device);
    entry(address_, segment.address);
    entry(total_size_, segment.total_size);
    entry(allocated_size_, segment.allocated_size);
    entry(active_size_, segment.active_size);
    entry(requested_size_, segment.requested_size);
    entry(stream_, segment.stream);
    text_entry(segment_type_, segment.is_large ? large_ : small_);
    out_.key(segment_pool_id_);
    out_.write(segment.pool_id[0]);
    out_.write(segment.pool_id[1]);
    out_.end_pair();
    entry(is_expandable_, segment.is_expandable);
    out_.key(frames_);
    write_stack(segment.stack);
    out_.key(blocks_);
    out_.begin_list();
    for (const Block& block : segment.blocks) {
      out_.item();
      write(block);
    }
    out_.end_list();
    out_.end_dict();
  }

  void write(const TraceEvent& event) {
    out_.begin_dict();
    text_entry(action_, action_words_[static_cast<size_t>(event.action)]);
    entry(event.action == TraceAction::kOom ? device_free_ : addr_, event.address);
    entry(size_, event.size);
    entry(stream_, event.stream);
    entry(time_us_, event.time_us);
    text_entry(compile_context_, not_available_);
    text_entry(user_metadata_,
               event.label < 0 ? empty_ : out_.intern(snapshot_.labels[event.label]));
    if (event.stack >= 0) {  // torch omits the key if there is no stack
      out_.key(frames_);
      write_stack(event.stack);
    }
    out_.end_dict();
  }

  void write(const Annotation& annotation) {
    out_.begin_dict();
    text_entry(name_, out_.intern(annotation.name));
    text_entry(stage_, annotation.is_start ? start_ : end_);
    entry(device_, annotation.device);
    entry(time_us_, annotation.time_us);
    out_.end_dict();
  }

  void write(const AllocatorSettings& settings) {
    const auto key = [&](const char* name) { return out_.intern(name); };
    out_.begin_dict();
    text_entry(key("PYTORCH_CUDA_ALLOC_CONF"), out_.intern(settings.alloc_conf));
    entry(key("max_split_size"), settings.max_split_size);
    out_.key(key("garbage_collection_threshold"));
    out_.write(settings.garbage_collection_threshold);
    entry(key("expandable_segments"), settings.expandable_segments);
    entry(key("pinned_num_register_threads"), settings.pinned_num_register_threads);
    entry(key("release_lock_on_cudamalloc"), settings.release_lock_on_cudamalloc);
    entry(key("pinned_use_cuda_host_register"), settings.pinned_use_cuda_host_register);
    entry(key("graph_capture_record_stream_reuse"), settings.graph_capture_record_stream_reuse);
    out_.key(key("roundup_power2_divisions"));
    out_.begin_dict();
    for (size_t i = 0; i < settings.roundup_power2_divisions.size(); ++i) {
      entry(key(std::to_string(int64_t{1} << i).c_str()), settings.roundup_power2_divisions[i]);
    }
    out_.end_dict();
    out_.end_dict();
  }

  const Snapshot& snapshot_;
  PickleWriter out_;
  std::vector<uint32_t> frame_memo_;
  std::vector<uint32_t> stack_memo_;

  // Texts that every event and block repeats, interned first: two-byte references.
  const Text action_ = out_.intern("action");
  const Text addr_ = out_.intern("addr");
  const Text device_free_ = out_.intern("device_free");
  const Text size_ = out_.intern("size");
  const Text stream_ = out_.intern("stream");
  const Text time_us_ = out_.intern("time_us");
  const Text compile_context_ = out_.intern("compile_context");
  const Text not_available_ = out_.intern("N/A");
  const Text user_metadata_ = out_.intern("user_metadata");
  const Text empty_ = out_.intern("");
  const Text frames_ = out_.intern("frames");
  const Text name_ = out_.intern("name");
  const Text filename_ = out_.intern("filename");
  const Text line_ = out_.intern("line");
  const Text address_ = out_.intern("address");
  const Text requested_size_ = out_.intern("requested_size");
  const Text state_ = out_.intern("state");
  const Text active_allocated_ = out_.intern("active_allocated");
  const Text active_pending_free_ = out_.intern("active_pending_free");
  const Text inactive_ = out_.intern("inactive");
  const Text device_ = out_.intern("device");
  const Text total_size_ = out_.intern("total_size");
  const Text allocated_size_ = out_.intern("allocated_size");
  const Text active_size_ = out_.intern("active_size");
  const Text segment_type_ = out_.intern("segment_type");
  const Text large_ = out_.intern("large");
  const Text small_ = out_.intern("small");
  const Text segment_pool_id_ = out_.intern("segment_pool_id");
  const Text is_expandable_ = out_.intern("is_expandable");
  const Text blocks_ = out_.intern("blocks");
  const Text stage_ = out_.intern("stage");
  const Text start_ = out_.intern("START");
  const Text end_ = out_.intern("END");
  std::array<Text, 9> action_words_{};
};

}  // namespace

void write_snapshot(const Snapshot& snapshot, const std::string& path) {
  ReplaceFile file(path);
  SnapshotWriter(snapshot, file).run();
  file.commit();
}

}  // namespace headroom
