// Stores the blocks' parameters in a file.
//
// Note [Weights in a file]
// Rationale: a disk holds more than the host's memory, and a step needs few blocks at a time.
// Approach: a scratch file (disk/scratch_file.h) holds one block after another, each parameter on
//   its own pages. The host has only kStagedBlocks blocks of pinned memory. A requested block is
//   read into one of them, with all its transfers of kTransferBytes in flight at once (io_uring
//   with O_DIRECT and registered buffers; threads if the kernel refuses the ring). Its copy to the
//   card is requested at the next call after the read has ended, at the latest when the block runs;
//   the copy starts as if requested with the block (CopyQueue::mark), beside the previous block's
//   arithmetic. So reading overlaps with the previous block's arithmetic and copies; with a slower
//   disk the host waits. New weights of the host's update are copied into a staged block and
//   written while the next ones are computed; the step ends when all are in the file. Every written
//   transfer has a checksum (files/checksum.h), which is compared after reading.
// Limits: all blocks alike. The host's thread waits for an unread block, so it does not run ahead
//   of the card then. A disk error ends the run: every later use throws it again.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "train/offload/blocks/block_storage.h"
#include "train/offload/copy_queue.h"
#include "train/offload/disk/scratch_file.h"
#include "train/offload/disk/staged_blocks.h"
#include "train/offload/disk/whole_transfers.h"

namespace headroom {

struct DiskBlockStorageOptions {
  static constexpr int64_t kTransferBytes = 16 << 20;

  std::string directory;  // must exist; empty: accounting only, for a virtual card
  int64_t blocks = 0;
  bool pinned = false;
  int64_t transfer_bytes = kTransferBytes;  // longest transfer; whole pages
};

// Throws what ScratchFile and WholeTransfers throw.
class DiskBlockStorage final : public BlockStorage {
 public:
  DiskBlockStorage(DiskBlockStorageOptions options, std::shared_ptr<CopyQueue> copies);
  ~DiskBlockStorage() override;
  DiskBlockStorage(const DiskBlockStorage&) = delete;
  DiskBlockStorage& operator=(const DiskBlockStorage&) = delete;

  void take(const Tensors& from) override;
  void fetch(int64_t block, const Tensors& to) override;
  void wait(int64_t block) override;
  void leave(int64_t block) override;
  std::shared_ptr<HostArena::Buffer> in_memory(Place) const override { return nullptr; }
  void store(Place place, const HostArena::Buffer& numbers) override;
  void finish_stores() override;
  void read(Place place, const torch::Tensor& to) override;
  void write(Place place, const torch::Tensor& from) override;
  const Slabs& slabs() const override { return arena_->slabs(); }
  DiskFigures disk() const override;
  std::vector<std::string> notes() const override { return notes_; }

 private:
  using Copies = std::vector<std::shared_ptr<Copy>>;

  // The use of a slot's memory.
  enum class Use {
    kNothing,
    kRead,   // being read from the file, then copied to the card
    kCopy,   // being copied to the card
    kWrite,  // being written to the file
    kHost    // being read from the file for the host
  };

  // One transfer: a part of a parameter in a buffer of the queue. A slot's pieces are consecutive.
  struct Piece {
    size_t slot = 0;
    std::byte* memory = nullptr;
    int64_t bytes = 0;
    int64_t offset = 0;  // in the block
  };

  // A staged block.
  struct Slot {
    Use use = Use::kNothing;
    int64_t block = 0;
    int64_t since = 0;                                        // grows with each acquire()
    int under_way = 0;                                        // transfers in flight
    std::vector<std::shared_ptr<HostArena::Buffer>> buffers;  // by parameter
    std::vector<std::vector<size_t>> pieces;                  // by parameter
    std::vector<bool> started;                                // by parameter: its transfer
    Tensors to;
    std::unique_ptr<CopyQueue::Mark> asked;
    Copies copies;
  };

  void open(const Tensors& block);
  void add_slot();
  void make_transfers();
  void check() const;
  Slot& acquire(Use use, int64_t block);
  Slot& writable(Place place);
  Slot* reading(int64_t block);
  void release(Slot& slot);
  void start(Slot& slot, size_t index, bool writes);
  bool take_ended(bool wait);
  uint64_t& sum_of(size_t piece);
  void check_read(size_t piece);
  void settle(Slot& slot);
  void copy(Slot& slot);
  void copy_what_is_there();

  DiskBlockStorageOptions options_;
  std::shared_ptr<CopyQueue> copies_;
  std::shared_ptr<HostArena> arena_;
  std::vector<int64_t> sizes_;  // bytes of each parameter of a block
  int64_t block_bytes_ = 0;     // in the file
  std::unique_ptr<ScratchFile> file_;
  std::vector<Slot> slots_;
  std::vector<Piece> pieces_;
  std::vector<uint64_t> sums_;      // checksums of the last writes, by block and piece
  std::vector<Copies> on_the_way_;  // copies to the card, by block
  std::unique_ptr<WholeTransfers> transfers_;
  std::exception_ptr broken_;
  int64_t uses_ = 0;
  int64_t read_ = 0;
  int64_t written_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace headroom
