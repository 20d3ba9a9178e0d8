// Completes transfers. No torch here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/offload/disk/transfer_queue.h"

namespace headroom {

// Continues short and interrupted transfers until they are whole.
class WholeTransfers {
 public:
  WholeTransfers(std::unique_ptr<TransferQueue> queue, size_t buffers)
      : queue_(std::move(queue)), of_buffer_(buffers) {}
  ~WholeTransfers() { drain(); }  // memory and files may be freed then
  WholeTransfers(const WholeTransfers&) = delete;
  WholeTransfers& operator=(const WholeTransfers&) = delete;

  // path: the file's, for messages.
  void start(size_t buffer, const Transfer& transfer, const std::string& path);
  // The buffer of a completed transfer; nothing if `wait` is false and there is none. Throws
  // ReadError (files/mapped_file.h) and WriteError (files/replace_file.h).
  std::optional<size_t> next(bool wait);
  // Waits until nothing is in flight, and ignores errors.
  void drain() noexcept;

  int under_way() const { return under_way_; }

 private:
  struct UnderWay {
    Transfer rest;
    const std::string* path = nullptr;
    int fruitless = 0;  // consecutive tries that moved nothing
  };

  bool take(const TransferQueue::Ended& ended);

  std::unique_ptr<TransferQueue> queue_;
  std::vector<UnderWay> of_buffer_;
  int under_way_ = 0;
};

}  // namespace headroom
