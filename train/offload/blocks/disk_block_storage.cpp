#include "train/offload/blocks/disk_block_storage.h"

#include <algorithm>
#include <utility>

#include "files/checksum.h"
#include "files/mapped_file.h"
#include "train/offload/disk/disk_layout.h"

namespace headroom {

using torch::Tensor;

DiskBlockStorage::DiskBlockStorage(DiskBlockStorageOptions options,
                                   std::shared_ptr<CopyQueue> copies)
    : options_(std::move(options)),
      copies_(std::move(copies)),
      arena_(HostArena::make(options_.pinned, /*limit_bytes=*/0, /*page_aligned=*/true)) {}

DiskBlockStorage::~DiskBlockStorage() {
  transfers_.reset();  // waits for transfers in flight, which use memory and file
  for (const Copies& copies : on_the_way_) {
    for (const auto& copy : copies) copy->wait();
  }
}

void DiskBlockStorage::open(const Tensors& block) {
  for (const Tensor& parameter : block) {
    sizes_.push_back(parameter.numel());
    block_bytes_ += on_pages(parameter.numel());
  }
  for (int64_t i = 0; i < std::min(kStagedBlocks, options_.blocks); ++i) add_slot();
  if (options_.directory.empty()) return;
  file_ =
      std::make_unique<ScratchFile>(options_.directory, "weights", options_.blocks * block_bytes_);
  notes_ = file_->notes();
  make_transfers();
}

void DiskBlockStorage::add_slot() {
  Slot& slot = slots_.emplace_back();
  slot.pieces.resize(sizes_.size());
  int64_t offset = 0;
  for (size_t i = 0; i < sizes_.size(); ++i) {
    slot.buffers.push_back(arena_->take(sizes_[i]));
    for (const Tensor& part : slot.buffers[i]->parts()) {
      // The arena's unit is a page, so the rest of the last page is free for this transfer.
      const int64_t end = on_pages(part.numel());
      for (int64_t at = 0; at < end; at += options_.transfer_bytes) {
        const int64_t bytes = std::min(options_.transfer_bytes, end - at);
        auto* const memory = static_cast<std::byte*>(part.data_ptr()) + at;
        slot.pieces[i].push_back(pieces_.size());
        pieces_.push_back({slots_.size() - 1, memory, bytes, offset});
        offset += bytes;
      }
    }
  }
}

void DiskBlockStorage::make_transfers() {
  constexpr size_t kMostThreads = 8;
  std::vector<TransferMemory> memory;
  for (const Piece& piece : pieces_) {
    memory.push_back({piece.memory, static_cast<size_t>(piece.bytes)});
  }
  auto queue = make_transfer_queue(memory, std::min(memory.size(), kMostThreads), notes_);
  transfers_ = std::make_unique<WholeTransfers>(std::move(queue), memory.size());
  sums_.resize(static_cast<size_t>(options_.blocks) * pieces_.size() / slots_.size());
}

// The checksum of the piece for its slot's current block.
uint64_t& DiskBlockStorage::sum_of(size_t piece) {
  const size_t of_block = pieces_.size() / slots_.size();
  const auto block = static_cast<size_t>(slots_[pieces_[piece].slot].block);
  return sums_[block * of_block + piece % of_block];
}

// Throws if the disk returned other bytes than were written.
void DiskBlockStorage::check_read(size_t piece) {
  const Piece& read = pieces_[piece];
  if (checksum(read.memory, read.bytes) == sum_of(piece)) return;
  const int64_t block = slots_[read.slot].block;
  throw ReadError(file_->name(), block_in_words(block, options_.blocks,
                                                block * block_bytes_ + read.offset, read.bytes) +
                                     " is damaged: the disk returns other bytes than were written; "
                                     "use a directory on another disk");
}

void DiskBlockStorage::take(const Tensors& from) {
  if (slots_.empty()) open(from);
  const auto block = static_cast<int64_t>(on_the_way_.size());
  TORCH_INTERNAL_ASSERT(block < options_.blocks && from.size() == sizes_.size());
  on_the_way_.emplace_back();
  Slot& slot = acquire(Use::kWrite, block);
  Copies leaving;
  for (size_t i = 0; i < from.size(); ++i) {
    TORCH_INTERNAL_ASSERT(from[i].numel() == sizes_[i]);
    leaving.push_back(copies_->out(from[i], slot.buffers[i]));
  }
  for (const auto& copy : leaving) copy->wait_on_host();
  for (size_t i = 0; i < from.size(); ++i) start(slot, i, /*writes=*/true);
}

void DiskBlockStorage::fetch(int64_t block, const Tensors& to) {
  check();
  finish_stores();
  Slot& slot = acquire(Use::kRead, block);
  slot.to = to;
  slot.asked = copies_->mark();
  for (size_t i = 0; i < sizes_.size(); ++i) start(slot, i, /*writes=*/false);
  copy_what_is_there();
}

void DiskBlockStorage::wait(int64_t block) {
  check();
  if (Slot* const slot = reading(block)) {
    settle(*slot);
    copy(*slot);
  }
  Copies& copies = on_the_way_[static_cast<size_t>(block)];
  for (const auto& copy : copies) copy->wait();
  copies.clear();
  copy_what_is_there();
}

void DiskBlockStorage::leave(int64_t block) {
  if (Slot* const slot = reading(block)) {  // no wait(): the step failed
    try {
      settle(*slot);
    } catch (...) {  // the next request throws it again
      slot->under_way = 0;
    }
    release(*slot);
  }
  Copies& copies = on_the_way_[static_cast<size_t>(block)];
  for (const auto& copy : copies) copy->wait();
  copies.clear();
}

void DiskBlockStorage::store(Place place, const HostArena::Buffer& numbers) {
  Slot& slot = writable(place);
  if (file_) {
    for_each_common_part(*slot.buffers[place.index], numbers,
                         [](Tensor& own, Tensor& other) { own.copy_(other); });
  }
  start(slot, place.index, /*writes=*/true);
}

void DiskBlockStorage::finish_stores() {
  for (Slot& slot : slots_) {
    if (slot.use != Use::kWrite) continue;
    settle(slot);
    release(slot);
  }
}

void DiskBlockStorage::read(Place place, const Tensor& to) {
  if (!file_) {
    to.zero_();  // a virtual card has no values
    return;
  }
  check();
  finish_stores();
  Slot& slot = acquire(Use::kHost, place.block);
  start(slot, place.index, /*writes=*/false);
  settle(slot);
  gather(*slot.buffers[place.index], to);
  release(slot);
}

void DiskBlockStorage::write(Place place, const Tensor& from) {
  Slot& slot = writable(place);
  if (file_) scatter(from, *slot.buffers[place.index]);
  start(slot, place.index, /*writes=*/true);
}

DiskFigures DiskBlockStorage::disk() const {
  return {.files = options_.blocks * block_bytes_, .read = read_, .written = written_};
}

void DiskBlockStorage::check() const {
  if (broken_) std::rethrow_exception(broken_);
}

// An unused slot, or the one acquired longest ago, after its use has ended.
DiskBlockStorage::Slot& DiskBlockStorage::acquire(Use use, int64_t block) {
  while (take_ended(/*wait=*/false)) {
  }
  copy_what_is_there();
  const auto rank = [](const Slot& slot) {
    return slot.use == Use::kNothing ? int64_t{-1} : slot.since;
  };
  Slot& slot = *std::min_element(slots_.begin(), slots_.end(),
                                 [&](const Slot& a, const Slot& b) { return rank(a) < rank(b); });
  settle(slot);
  if (slot.use == Use::kRead) copy(slot);
  for (const auto& copy : slot.copies) copy->wait_on_host();
  release(slot);
  slot.use = use;
  slot.block = block;
  slot.since = uses_++;
  slot.started.assign(sizes_.size(), false);
  return slot;
}

// A slot for that parameter's new numbers.
DiskBlockStorage::Slot& DiskBlockStorage::writable(Place place) {
  check();
  for (Slot& slot : slots_) {
    if (slot.use != Use::kWrite || slot.block != place.block) continue;
    if (slot.started[place.index]) settle(slot);
    return slot;
  }
  return acquire(Use::kWrite, place.block);
}

DiskBlockStorage::Slot* DiskBlockStorage::reading(int64_t block) {
  const auto found = std::find_if(slots_.begin(), slots_.end(), [&](const Slot& slot) {
    return slot.use == Use::kRead && slot.block == block;
  });
  return found == slots_.end() ? nullptr : &*found;
}

void DiskBlockStorage::release(Slot& slot) {
  slot.use = Use::kNothing;
  slot.to.clear();
  slot.asked.reset();
  slot.copies.clear();
}

void DiskBlockStorage::start(Slot& slot, size_t index, bool writes) {
  (writes ? written_ : read_) += on_pages(sizes_[index]);
  slot.started[index] = true;
  if (!transfers_) return;
  for (const size_t id : slot.pieces[index]) {
    const Piece& piece = pieces_[id];
    if (writes) sum_of(id) = checksum(piece.memory, piece.bytes);
    transfers_->start(id,
                      {.writes = writes,
                       .file = file_->descriptor(),
                       .memory = piece.memory,
                       .bytes = piece.bytes,
                       .offset = slot.block * block_bytes_ + piece.offset},
                      file_->name());
    ++slot.under_way;
  }
}

// False if nothing is in flight, or nothing has ended.
bool DiskBlockStorage::take_ended(bool wait) {
  if (!transfers_) return false;
  try {
    const std::optional<size_t> id = transfers_->next(wait);
    if (!id) return false;
    Slot& slot = slots_[pieces_[*id].slot];
    --slot.under_way;
    if (slot.use == Use::kRead || slot.use == Use::kHost) check_read(*id);
    return true;
  } catch (...) {
    broken_ = std::current_exception();
    transfers_->drain();
    for (Slot& slot : slots_) slot.under_way = 0;
    throw;
  }
}

void DiskBlockStorage::settle(Slot& slot) {
  while (slot.under_way > 0) take_ended(/*wait=*/true);
}

void DiskBlockStorage::copy(Slot& slot) {
  slot.use = Use::kCopy;
  for (size_t i = 0; i < slot.to.size(); ++i) {
    slot.copies.push_back(copies_->in(slot.buffers[i], slot.to[i], slot.asked.get()));
  }
  on_the_way_[static_cast<size_t>(slot.block)] = slot.copies;
  slot.to.clear();
}

void DiskBlockStorage::copy_what_is_there() {
  for (Slot& slot : slots_) {
    if (slot.use == Use::kRead && slot.under_way == 0) copy(slot);
  }
}

}  // namespace headroom
