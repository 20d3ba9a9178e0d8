#include "profiling/report/page/history.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>

#include "profiling/report/page/columns.h"
#include "profiling/snapshot/analysis/live_blocks.h"
#include "profiling/snapshot/analysis/reserved_ranges.h"

namespace headroom {
namespace {

// Read by web/data/history.js in this order.
struct HistoryColumns {
  PackedColumn origin_size, origin_stack, origin_label, origin_purpose;
  PackedColumn addresses;  // each distinct one, ascending, as the distance from the one before
  PackedColumn before_origin, before_address;  // blocks live before the first event
  PackedColumn reserved_begin, reserved_size;  // ranges reserved before the first event
  PackedColumn kind, time;                     // of each event; times as differences
  PackedColumn alloc_origin, alloc_address, free_distance;
  PackedColumn range_begin, range_size;  // of kReserve and kRelease
  PackedColumn oom_size, oom_free;

  std::string packed() const {
    std::string bytes;
    for (const PackedColumn* column :
         {&origin_size, &origin_stack, &origin_label, &origin_purpose, &addresses, &before_origin,
          &before_address, &reserved_begin, &reserved_size, &kind, &time, &alloc_origin,
          &alloc_address, &free_distance, &range_begin, &range_size, &oom_size, &oom_free}) {
      column->append_to(bytes);
    }
    return bytes;
  }
};

class HistoryPacker {
 public:
  HistoryPacker(const Snapshot& snapshot, size_t device)
      : snapshot_(snapshot), device_(device), trace_(snapshot.device_traces[device]) {}

  DeviceHistory run() {
    out_.device = static_cast<int64_t>(device_);
    out_.events = static_cast<int64_t>(trace_.size());
    out_.first_time_us = trace_.empty() ? 0 : trace_.front().time_us;
    live_ = live_before(snapshot_, device_);
    number_addresses();
    add_blocks_before();
    add_ranges_before();
    int64_t time_us = out_.first_time_us;
    for (size_t i = 0; i < trace_.size(); ++i) {
      const TraceEvent& event = trace_[i];
      const int64_t at_us = event.time_us == 0 ? time_us : event.time_us;  // 0: not recorded
      columns_.time.add_signed(at_us - time_us);
      time_us = at_us;
      add_event(event, static_cast<int64_t>(i));
    }
    out_.blocks = next_;
    out_.packed = columns_.packed();
    return std::move(out_);
  }

 private:
  using OriginKey = std::tuple<int64_t, int32_t, int32_t, int32_t>;  // size, stack, label, before

  void number_addresses() {
    std::vector<uint64_t> all;
    for (const auto& [address, block] : live_) all.push_back(address);
    for (const TraceEvent& event : trace_) {
      if (event.action == TraceAction::kAlloc) all.push_back(event.address);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    address_number_.reserve(all.size());
    uint64_t previous = 0;
    for (const uint64_t address : all) {
      columns_.addresses.add(address - previous);
      previous = address;
      address_number_.emplace(address, static_cast<uint32_t>(address_number_.size()));
    }
  }

  uint64_t purpose_number(const std::string& purpose) {
    const auto known = std::find(out_.purposes.begin(), out_.purposes.end(), purpose);
    if (known == out_.purposes.end()) {
      out_.purposes.push_back(purpose);
      return out_.purposes.size() - 1;
    }
    return static_cast<uint64_t>(known - out_.purposes.begin());
  }

  uint64_t origin_number(int64_t size, int32_t stack, int32_t label, bool before_recording) {
    // The page shows a block of before the recording as one, whatever its label says.
    const OriginKey key = {size, stack, label, before_recording ? 1 : 0};
    const auto [known, is_new] = origins_.try_emplace(key, origins_.size());
    if (is_new) {
      columns_.origin_size.add_signed(size);
      columns_.origin_stack.add(static_cast<uint64_t>(int64_t{stack} + 1));
      columns_.origin_label.add(static_cast<uint64_t>(int64_t{label} + 1));
      columns_.origin_purpose.add(purpose_number(purpose_of(snapshot_, label, stack)));
    }
    return known->second;
  }

  void add_blocks_before() {
    std::map<uint64_t, TracedBlock*> in_order;
    for (auto& [address, block] : live_) in_order.emplace(address, &block);
    for (const auto& [address, block] : in_order) {
      columns_.before_origin.add(origin_number(block->size, block->stack, block->label, true));
      columns_.before_address.add(address_number_.at(address));
      block->number = next_++;
    }
    bytes_ = out_.before_bytes = out_.peak_bytes = bytes_of(live_);
  }

  void add_ranges_before() {
    const ReservedRanges before = reserved_before(snapshot_, device_);
    for (const auto& [begin, size] : before) {
      columns_.reserved_begin.add(begin);
      columns_.reserved_size.add_signed(size);
      reserved_ += size;
    }
    out_.peak_reserved_bytes = reserved_;
  }

  void add_event(const TraceEvent& event, int64_t index) {
    const HistoryEvent kind = kind_of(event);
    columns_.kind.add(static_cast<uint64_t>(kind));
    switch (kind) {
      case HistoryEvent::kNoChange:
        return;
      case HistoryEvent::kAlloc:
      case HistoryEvent::kReplace:
      case HistoryEvent::kFree:
        return add_block_event(event, kind, index);
      case HistoryEvent::kReserve:
      case HistoryEvent::kRelease:
        columns_.range_begin.add(event.address);
        columns_.range_size.add_signed(event.size);
        reserved_ += kind == HistoryEvent::kReserve ? event.size : -event.size;
        out_.peak_reserved_bytes = std::max(out_.peak_reserved_bytes, reserved_);
        return;
      case HistoryEvent::kOom:
        columns_.oom_size.add_signed(event.size);
        columns_.oom_free.add(event.address);
        return;
    }
  }

  void add_block_event(const TraceEvent& event, HistoryEvent kind, int64_t index) {
    if (kind != HistoryEvent::kAlloc) {
      columns_.free_distance.add(static_cast<uint64_t>(next_ - live_.at(event.address).number));
    }
    bytes_ += apply(event, live_);
    if (kind == HistoryEvent::kFree) return;
    columns_.alloc_origin.add(origin_number(event.size, event.stack, event.label, false));
    columns_.alloc_address.add(address_number_.at(event.address));
    live_.at(event.address).number = next_++;
    if (bytes_ <= out_.peak_bytes) return;
    out_.peak_bytes = bytes_;
    out_.peak_event = index;
  }

  HistoryEvent kind_of(const TraceEvent& event) const {
    switch (event.action) {
      case TraceAction::kAlloc:
        return live_.contains(event.address) ? HistoryEvent::kReplace : HistoryEvent::kAlloc;
      case TraceAction::kFreeCompleted:
        return live_.contains(event.address) ? HistoryEvent::kFree : HistoryEvent::kNoChange;
      case TraceAction::kSegmentAlloc:
      case TraceAction::kSegmentMap:
        return HistoryEvent::kReserve;
      case TraceAction::kSegmentFree:
      case TraceAction::kSegmentUnmap:
        return HistoryEvent::kRelease;
      case TraceAction::kOom:
        return HistoryEvent::kOom;
      case TraceAction::kFreeRequested:
      case TraceAction::kSnapshot:
        return HistoryEvent::kNoChange;
    }
    return HistoryEvent::kNoChange;
  }

  const Snapshot& snapshot_;
  size_t device_;
  const std::vector<TraceEvent>& trace_;
  DeviceHistory out_;
  HistoryColumns columns_;
  TracedBlocks live_;
  std::unordered_map<uint64_t, uint32_t> address_number_;
  std::map<OriginKey, uint64_t> origins_;
  int32_t next_ = 0;  // number of the next block
  int64_t bytes_ = 0;
  int64_t reserved_ = 0;
};

}  // namespace

DeviceHistory history_of(const Snapshot& snapshot, size_t device) {
  return HistoryPacker(snapshot, device).run();
}

}  // namespace headroom
