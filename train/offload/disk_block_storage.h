// The blocks' parameters in a file.
//
// Note [Weights in a file]
// Rationale: a disk holds what the host's memory cannot, and a step wants few blocks at a time.
// Approach: a scratch file (disk/scratch_file.h) of one block after another, each parameter on
//   pages of its own. kStagedBlocks blocks of pinned memory are all that the host has. A block that
//   is asked for is read into one of them, in transfers of kTransferBytes that are all under way at
//   once (io_uring with O_DIRECT and registered buffers; threads where the kernel refuses the
//   ring). Its copy to the card is asked for as soon as somebody looks and it is there, at the
//   latest where the block runs; it runs as if it had been asked for with the block
//   (CopyQueue::mark), so beside the arithmetic of the block before. So reading overlaps the
//   arithmetic and the copies of the block before it, and where the disk is slower the host waits
//   for it. New weights of the host's update are copied into a staged block and written while the
//   next ones are computed; the step ends when all of them are in the file. Every transfer that was
//   written has a sum (files/checksum.h), which is compared when it has been read.
// Limits: all blocks alike. The host's thread waits for a block that is not read yet, so it does
//   not run ahead of the card then. An error of the disk ends the run: what it was told last is
//   thrown again at every use.
#pragma once

#include <exception>
#include <memory>
#include <vector>

#include "train/offload/block_storage.h"
#include "train/offload/copy_queue.h"
#include "train/offload/disk/scratch_file.h"
#include "train/offload/disk/staged_blocks.h"
#include "train/offload/disk/whole_transfers.h"

namespace headroom {

struct DiskBlockStorageOptions {
  static constexpr int64_t kTransferBytes = 16 << 20;

  std::string directory;  // is there already; empty: only the books are kept, for a virtual card
  int64_t blocks = 0;
  bool pinned = false;
  int64_t transfer_bytes = kTransferBytes;  // of the longest; whole pages
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

  // What a slot's memory is for.
  enum class Use {
    kNothing,
    kRead,   // from the file, then to be copied to the card
    kCopy,   // to the card
    kWrite,  // to the file
    kHost    // read from the file for the host
  };

  // A part of a parameter that is moved at once: a buffer of the queue. Those of a slot follow one
  // another.
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
    int64_t since = 0;                                        // the larger, the later it was taken
    int under_way = 0;                                        // transfers
    std::vector<std::shared_ptr<HostArena::Buffer>> buffers;  // of each parameter
    std::vector<std::vector<size_t>> pieces;                  // of each parameter
    std::vector<bool> started;                                // of each parameter: its write
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
  std::vector<int64_t> sizes_;  // of the parameters of a block, in bytes
  int64_t block_bytes_ = 0;     // in the file
  std::unique_ptr<ScratchFile> file_;
  std::vector<Slot> slots_;
  std::vector<Piece> pieces_;
  std::vector<uint64_t> sums_;      // of what was written last, of each block's pieces
  std::vector<Copies> on_the_way_;  // to the card, of each block
  std::unique_ptr<WholeTransfers> transfers_;
  std::exception_ptr broken_;
  int64_t uses_ = 0;
  int64_t read_ = 0;
  int64_t written_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace headroom
