// The states of an optimizer's parameters in files, taken through memory block by block. No torch
// here.
//
// Note [A pass over the states]
// Rationale: the disk is the slowest thing in the step, so it must never wait for the processor
//   while there is something to read or to write.
// Approach: a few buffers go round. While the block in one is updated, the blocks after it are
//   being read into others and the blocks before it written out of others; a buffer whose write has
//   ended is read into again at once. Blocks are updated in one order, by the calling thread.
//   io_uring with registered buffers and O_DIRECT; threads in pread and pwrite where the kernel
//   refuses the ring.
// Limits: nothing new is started while `visit` runs, so the buffers must last for one visit.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "train/offload/disk/disk_layout.h"
#include "train/offload/disk/state_directory.h"
#include "train/offload/disk/transfer_queue.h"
#include "train/offload/host_states.h"

namespace headroom {

enum class DiskEngine { kUringOrThreads, kThreads };

struct DiskStatesOptions {
  std::string directory;  // is there already
  // Of the run: what must be equal for another one to go on from these states, as people read it:
  // model, optimizer, seed.
  std::string identity;
  bool keep = false;  // the last whole states stay when the run ends
  int64_t block_bytes = DiskLayout::kUsualBlockBytes;  // of one transfer
  int buffers = DiskLayout::kUsualBuffers;             // of block_bytes each, in memory; at least 3
  DiskEngine engine = DiskEngine::kUringOrThreads;
  // For tests: what is put between.
  std::function<std::unique_ptr<TransferQueue>(std::unique_ptr<TransferQueue>)> around_queue;
};

// Throws what StateDirectory and WholeTransfers throw, one line each.
class DiskStates final : public HostStates {
 public:
  DiskStates(DiskStatesOptions options, const std::vector<StateRegion>& regions);
  ~DiskStates() override;
  DiskStates(const DiskStates&) = delete;
  DiskStates& operator=(const DiskStates&) = delete;

  // 0 or more at the start where another run's states are gone on from.
  int64_t steps_done() const override;

  void fill(const Visit& masters) override;
  void read(const Visit& look) override;

  // `update` may wait, for a gradient; the disk reads on meanwhile as far as there are buffers. A
  // region whose states it leaves alone is carried over. On return the step is on the disk.
  // Whatever is thrown, by `update` too: the states are those of before the step, which may be
  // done again.
  void step(std::span<const int> order, const Visit& update) override;

  // Each pass so far adds layout().state_bytes() to what it reads, to what it writes.
  DiskFigures disk() const override;

  const DiskLayout& layout() const { return layout_; }
  // What the user should know, a line each: no O_DIRECT, io_uring refused, a torn step found.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  struct Engine;
  void pass(std::span<const int> order, bool reads, bool writes, const Visit& visit);

  DiskStatesOptions options_;
  DiskLayout layout_;
  std::unique_ptr<StateDirectory> directory_;
  std::unique_ptr<Engine> engine_;
  int64_t bytes_read_ = 0;
  int64_t bytes_written_ = 0;
  std::vector<std::string> notes_;
};

}  // namespace headroom
