// Keeps the states of an optimizer's parameters in files and streams them through memory by blocks.
// No torch here.
//
// Note [A pass over the states]
// Rationale: the disk is the slowest part of the step, so it must never wait for the processor
//   while there is something to read or to write.
// Approach: a few buffers rotate. While the block in one is updated, later blocks are read into
//   others and earlier blocks written from others; a buffer is refilled as soon as its write has
//   ended. The calling thread updates the blocks, in one order. Transfers use io_uring with
//   registered buffers and O_DIRECT, or threads with pread and pwrite if the kernel refuses the
//   ring.
// Limits: no transfer starts while `visit` runs, so the buffers must last for one visit.
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
#include "train/offload/states/host_states.h"

namespace headroom {

enum class DiskEngine { kUringOrThreads, kThreads };

struct DiskStatesOptions {
  std::string directory;  // must exist
  // Must be equal for a later run to continue from these states; readable text: model, optimizer,
  // seed.
  std::string identity;
  bool keep = false;                                   // keep the last whole states after the run
  int64_t block_bytes = DiskLayout::kUsualBlockBytes;  // per transfer
  int buffers = DiskLayout::kUsualBuffers;             // each of block_bytes, in memory; at least 3
  DiskEngine engine = DiskEngine::kUringOrThreads;
  // For tests: wraps the queue.
  std::function<std::unique_ptr<TransferQueue>(std::unique_ptr<TransferQueue>)> around_queue;
};

// Throws as StateDirectory and WholeTransfers, one line each.
class DiskStates final : public HostStates {
 public:
  DiskStates(DiskStatesOptions options, const std::vector<StateRegion>& regions);
  ~DiskStates() override;
  DiskStates(const DiskStates&) = delete;
  DiskStates& operator=(const DiskStates&) = delete;

  // 0 or more at the start if it continues from another run's states.
  int64_t steps_done() const override;

  void fill(const Visit& masters) override;
  void read(const Visit& look) override;

  // `update` may wait for a gradient; the disk reads ahead meanwhile, up to the number of buffers.
  // States that it leaves alone are carried over. On return the step is on the disk. After any
  // exception, also from `update`, the states are those before the step, and the step may be
  // repeated.
  void step(std::span<const int> order, const Visit& update) override;

  // Each pass adds layout().state_bytes() to the bytes read, and to those written.
  DiskFigures disk() const override;

  const DiskLayout& layout() const { return layout_; }
  // Notes for the user, a line each: no O_DIRECT, io_uring refused, a torn step found.
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
