// Reads and writes that are under way at once. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace headroom {

struct Transfer {
  bool writes = false;
  int file = -1;
  std::byte* memory = nullptr;
  int64_t bytes = 0;
  int64_t offset = 0;
};

// What the operating system is asked to do, as it does it: a transfer may end short, or be
// interrupted. WholeTransfers (whole_transfers.h) makes whole ones of them.
class TransferQueue {
 public:
  struct Ended {
    size_t buffer = 0;   // which buffer's transfer
    int64_t result = 0;  // bytes, or an errno below zero
  };

  virtual ~TransferQueue() = default;
  // Returns at once. At most one transfer of a buffer is under way; its memory lies in the buffer.
  virtual void start(size_t buffer, const Transfer& transfer) = 0;
  // One that has ended; where none has, waits for one, or gives nothing where `wait` is false.
  virtual std::optional<Ended> next(bool wait) = 0;
};

// Memory of one buffer, aligned to pages.
struct TransferMemory {
  std::byte* memory = nullptr;
  size_t bytes = 0;
};

// So many threads, each in pread or pwrite.
std::unique_ptr<TransferQueue> make_thread_queue(size_t threads);

// io_uring with the buffers registered; where the kernel refuses the ring, the threads. `notes` say
// what it refused, and why.
std::unique_ptr<TransferQueue> make_transfer_queue(const std::vector<TransferMemory>& buffers,
                                                   size_t threads, std::vector<std::string>& notes);

}  // namespace headroom
