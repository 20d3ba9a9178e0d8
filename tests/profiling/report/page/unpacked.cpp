#include "tests/profiling/report/page/unpacked.h"

#include <gtest/gtest.h>

#include <numeric>

#include "profiling/report/page/history.h"

namespace headroom {
namespace {

using Numbers = std::vector<uint64_t>;

class ColumnsOfHistory {
 public:
  explicit ColumnsOfHistory(const std::string& bytes) : bytes_(bytes) {}

  Numbers next() {
    Numbers values(number());
    for (uint64_t& value : values) value = number();
    return values;
  }
  std::vector<int64_t> next_signed() {
    std::vector<int64_t> values;
    for (const uint64_t value : next()) {
      values.push_back(static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1));
    }
    return values;
  }
  bool is_at_end() const { return at_ == bytes_.size(); }

 private:
  uint64_t number() {
    uint64_t value = 0;
    for (int shift = 0; at_ < bytes_.size(); shift += 7) {
      const auto byte = static_cast<uint8_t>(bytes_[at_++]);
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ADD_FAILURE() << "the history ends within a number";
    return 0;
  }

  const std::string& bytes_;
  size_t at_ = 0;
};

}  // namespace

UnpackedHistory unpacked(const std::string& packed) {
  UnpackedHistory out;
  ColumnsOfHistory columns(packed);
  const auto size = columns.next_signed();
  columns.next();  // stacks
  out.origin_label = columns.next();
  columns.next();  // purposes
  columns.next();  // addresses
  Numbers origin_of_block = columns.next();
  columns.next();  // addresses of the blocks from before the recording
  columns.next();  // reserved ranges
  const auto ranges_before = columns.next_signed();
  const Numbers kinds = columns.next();
  const auto time_changes = columns.next_signed();
  const Numbers alloc_origin = columns.next();
  columns.next();  // addresses
  const Numbers free_distance = columns.next();
  columns.next();  // addresses of ranges
  const auto range_size = columns.next_signed();
  columns.next();  // failed allocations
  columns.next();
  EXPECT_TRUE(columns.is_at_end());

  int64_t live = 0;
  for (const uint64_t origin : origin_of_block) live += size.at(origin);
  int64_t reserved = std::accumulate(ranges_before.begin(), ranges_before.end(), int64_t{0});
  out.live = {live};
  out.reserved = {reserved};
  size_t allocs = 0, frees = 0, ranges = 0;
  int64_t time_us = 0;
  for (size_t i = 0; i < kinds.size(); ++i) {
    const auto kind = static_cast<HistoryEvent>(kinds[i]);
    if (kind == HistoryEvent::kFree || kind == HistoryEvent::kReplace) {
      live -= size.at(origin_of_block.at(origin_of_block.size() - free_distance.at(frees++)));
    }
    if (kind == HistoryEvent::kAlloc || kind == HistoryEvent::kReplace) {
      origin_of_block.push_back(alloc_origin.at(allocs++));
      live += size.at(origin_of_block.back());
    }
    if (kind == HistoryEvent::kReserve) reserved += range_size.at(ranges++);
    if (kind == HistoryEvent::kRelease) reserved -= range_size.at(ranges++);
    out.live.push_back(live);
    out.reserved.push_back(reserved);
    out.time_us.push_back(time_us += time_changes.at(i));
  }
  return out;
}

}  // namespace headroom
