// Concurrent reads and writes. No torch here.
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

// Passes requests to the operating system unchanged: a transfer may end short, or be interrupted.
// WholeTransfers (whole_transfers.h) completes them.
class TransferQueue {
 public:
  struct Ended {
    size_t buffer = 0;   // the transfer's buffer
    int64_t result = 0;  // bytes, or an errno below zero
  };

  virtual ~TransferQueue() = default;
  // Returns at once. Each buffer has at most one transfer in flight, with memory inside the buffer.
  virtual void start(size_t buffer, const Transfer& transfer) = 0;
  // An ended transfer; if there is none, waits for one, or returns nothing if `wait` is false.
  virtual std::optional<Ended> next(bool wait) = 0;
};

// Page-aligned memory of one buffer.
struct TransferMemory {
  std::byte* memory = nullptr;
  size_t bytes = 0;
};

// Uses this many threads, each in pread or pwrite.
std::unique_ptr<TransferQueue> make_thread_queue(size_t threads);

// io_uring with registered buffers, or threads if the kernel refuses the ring. `notes` get the
// refusal and its reason.
std::unique_ptr<TransferQueue> make_transfer_queue(const std::vector<TransferMemory>& buffers,
                                                   size_t threads, std::vector<std::string>& notes);

}  // namespace headroom
