#include "virtual_gpu/device/memory/contents.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace virtual_gpu {
namespace {

class Kept : public Source {
 public:
  explicit Kept(Bytes bytes) : bytes_(std::move(bytes)) {}
  const Bytes* bytes() override { return &bytes_; }

 private:
  const Bytes bytes_;
};

}  // namespace

std::shared_ptr<Source> source_of(Bytes bytes) { return std::make_shared<Kept>(std::move(bytes)); }

Contents::Blocks::iterator Contents::block_at(uint64_t address) {
  auto after = known_.upper_bound(address);
  if (after == known_.begin()) return known_.end();
  --after;
  return address < after->second.end ? after : known_.end();
}

// The known block that will hold these bytes.
Contents::Blocks::iterator Contents::make_block(uint64_t address, uint64_t bytes) {
  const auto found = block_at(address);
  if (found != known_.end() && address + bytes <= found->second.end) return found;
  Extent extent{address, address + bytes};
  auto in_use = in_use_.upper_bound(address);
  if (in_use != in_use_.begin() && address < std::prev(in_use)->second) {
    --in_use;
    extent = {in_use->first, in_use->second};
  } else {
    extent = extents_(address);
  }
  extent.end = std::max(extent.end, address + bytes);
  extent.begin = std::min(extent.begin, address);
  drop_between(extent.begin, extent.end);
  by_age_[next_age_] = extent.begin;
  Block made{.end = extent.end, .age = next_age_++, .bytes = 0, .ranges = {}};
  const auto block = known_.emplace(extent.begin, std::move(made)).first;
  note_bounds();
  return block;
}

Contents::Blocks::iterator Contents::drop(Blocks::iterator block) {
  by_age_.erase(block->second.age);
  bytes_ -= block->second.bytes;
  const auto next = known_.erase(block);
  note_bounds();
  return next;
}

void Contents::note_bounds() {
  any_ = !known_.empty();
  lowest_ = known_.empty() ? 0 : known_.begin()->first;
  highest_ = known_.empty() ? 0 : std::prev(known_.end())->second.end;
}

void Contents::drop_between(uint64_t begin, uint64_t end) {
  auto block = block_at(begin);
  if (block == known_.end()) block = known_.lower_bound(begin);
  while (block != known_.end() && block->first < end) block = drop(block);
}

// Removes [begin, end) from the block's ranges.
void Contents::cut(Block& block, uint64_t begin, uint64_t end) {
  auto at = block.ranges.upper_bound(begin);
  if (at != block.ranges.begin() && std::prev(at)->second.end > begin) --at;
  while (at != block.ranges.end() && at->first < end) {
    const uint64_t first = at->first;
    const Range range = at->second;
    at = block.ranges.erase(at);
    const uint64_t gone = std::min(range.end, end) - std::max(first, begin);
    block.bytes -= gone;
    bytes_ -= gone;
    if (first < begin) {
      block.ranges[first] = {.end = begin, .source = range.source, .offset = range.offset};
    }
    if (range.end > end) {
      block.ranges[end] = {
          .end = range.end, .source = range.source, .offset = range.offset + (end - first)};
    }
  }
}

void Contents::forget_locked(uint64_t begin, uint64_t end) {
  auto block = block_at(begin);
  if (block == known_.end()) block = known_.lower_bound(begin);
  while (block != known_.end() && block->first < end) {
    cut(block->second, begin, end);
    block = block->second.ranges.empty() ? drop(block) : std::next(block);
  }
}

void Contents::place(uint64_t address, Piece piece) {
  const auto block = make_block(address, piece.bytes);
  cut(block->second, address, address + piece.bytes);
  block->second.ranges[address] = {
      .end = address + piece.bytes, .source = std::move(piece.source), .offset = piece.offset};
  block->second.bytes += piece.bytes;
  bytes_ += piece.bytes;
  while (bytes_ > most_bytes_) drop(known_.find(by_age_.begin()->second));
}

void Contents::put(uint64_t address, Piece piece) {
  if (piece.bytes == 0) return;
  if (piece.bytes > most_at_once()) return forget(address, piece.bytes);
  const std::lock_guard lock(mutex_);
  place(address, std::move(piece));
}

void Contents::complete(uint64_t address, uint64_t bytes) {
  if (!any() || bytes > most_at_once()) return;
  const std::lock_guard lock(mutex_);
  const auto block = block_at(address);
  if (block == known_.end()) return;
  std::vector<Extent> gaps;
  uint64_t at = address;
  const uint64_t end = address + bytes;
  for (const auto& [begin, range] : block->second.ranges) {
    if (range.end <= at) continue;
    if (begin >= end) break;
    if (begin > at) gaps.push_back({at, begin});
    at = range.end;
  }
  if (at == address && gaps.empty()) return;
  if (at < end) gaps.push_back({at, end});
  for (const Extent& gap : gaps) {
    place(gap.begin, {source_of(Bytes(gap.end - gap.begin, 0)), 0, gap.end - gap.begin});
  }
}

void Contents::write(uint64_t address, const void* from, uint64_t bytes) {
  if (bytes > most_at_once()) return forget(address, bytes);
  const auto* first = static_cast<const unsigned char*>(from);
  put(address, {source_of(Bytes(first, first + bytes)), 0, bytes});
}

void Contents::set(uint64_t address, unsigned char value, uint64_t bytes) {
  if (bytes > most_at_once()) return forget(address, bytes);
  put(address, {source_of(Bytes(bytes, value)), 0, bytes});
}

void Contents::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  // Only the source's known bytes become known in the copy.
  std::map<uint64_t, Piece> copied;
  const auto block = block_at(from);
  if (block != known_.end() && bytes <= most_at_once()) {
    for (const auto& [first, range] : block->second.ranges) {
      const uint64_t begin = std::max(first, from);
      const uint64_t end = std::min(range.end, from + bytes);
      if (begin < end) {
        copied[to + (begin - from)] = {range.source, range.offset + (begin - first), end - begin};
      }
    }
  }
  forget_locked(to, to + bytes);
  for (auto& [address, piece] : copied) place(address, std::move(piece));
}

std::vector<Piece> Contents::pieces_locked(uint64_t address, uint64_t bytes) const {
  auto block = known_.upper_bound(address);
  if (block == known_.begin()) return {};
  const Ranges& ranges = (--block)->second.ranges;
  auto at = ranges.upper_bound(address);
  if (at == ranges.begin()) return {};
  std::vector<Piece> found;
  const uint64_t end = address + bytes;
  for (--at; address < end; ++at) {
    if (at == ranges.end() || at->first > address || at->second.end <= address) return {};
    const uint64_t until = std::min(end, at->second.end);
    found.push_back(
        {at->second.source, at->second.offset + (address - at->first), until - address});
    address = until;
  }
  return found;
}

std::vector<Piece> Contents::pieces(uint64_t address, uint64_t bytes) const {
  if (!any() || bytes == 0) return {};
  const std::lock_guard lock(mutex_);
  return pieces_locked(address, bytes);
}

bool Contents::read(uint64_t address, uint64_t bytes, void* to) const {
  const std::vector<Piece> all = pieces(address, bytes);
  for (const Piece& piece : all) {
    if (piece.source->bytes() == nullptr) return false;
  }
  auto* out = static_cast<unsigned char*>(to);
  for (const Piece& piece : all) {
    std::memcpy(out, piece.source->bytes()->data() + piece.offset, piece.bytes);
    out += piece.bytes;
  }
  return !all.empty();
}

void Contents::forget(uint64_t address, uint64_t bytes) {
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  forget_locked(address, address + bytes);
}

void Contents::forget(const Operands::Span& span) {
  if (span.step == 0) return forget(span.begin, span.end - span.begin);
  if (!any()) return;
  const std::lock_guard lock(mutex_);
  auto block = block_at(span.begin);
  if (block == known_.end()) block = known_.lower_bound(span.begin);
  if (block == known_.end() || block->first >= span.end) return;
  for (uint64_t at = span.begin; at < span.end; at += span.step) {
    forget_locked(at, std::min(at + span.run, span.end));
  }
}

void Contents::forget_block_of(uint64_t pointer) {
  if (Operands::are_known()) {
    if (const auto written = Operands::written_at(pointer)) forget(*written);
    return;
  }
  const std::lock_guard lock(mutex_);
  const auto block = block_at(pointer);
  if (block != known_.end()) drop(block);
}

void Contents::forget_all() {
  if (!any()) return;
  if (Operands::are_known()) {
    for (const Operands::Span& span : Operands::written()) forget(span);
    return;
  }
  const std::lock_guard lock(mutex_);
  drop_between(0, UINT64_MAX);
}

void Contents::add_block(uint64_t address, uint64_t bytes) {
  Operands::take(address, address + bytes);
  const std::lock_guard lock(mutex_);
  drop_between(address, address + bytes);
  in_use_[address] = address + bytes;
}

void Contents::remove_block(uint64_t address) {
  const std::lock_guard lock(mutex_);
  const auto found = in_use_.find(address);
  if (found == in_use_.end()) return;
  drop_between(found->first, found->second);
  in_use_.erase(found);
}

}  // namespace virtual_gpu
