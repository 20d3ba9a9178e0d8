// A real queue whose transfers are short or fail.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <utility>

#include "train/offload/disk/transfer_queue.h"

namespace headroom {

class FaultyQueue : public TransferQueue {
 public:
  // The result of transfer `number`, from 0: bytes to move (all, fewer, none), or a negative errno.
  using Fault = std::function<int64_t(int number, const Transfer& transfer)>;

  FaultyQueue(std::unique_ptr<TransferQueue> inner, Fault fault)
      : inner_(std::move(inner)), fault_(std::move(fault)) {}

  void start(size_t buffer, const Transfer& transfer) override {
    const int64_t wanted = fault_(number_++, transfer);
    if (wanted <= 0) {
      ended_.insert({buffer, wanted});
      return;
    }
    Transfer shorter = transfer;
    shorter.bytes =
        std::min(wanted / 4096 * 4096 + (wanted % 4096 == 0 ? 0 : 4096), transfer.bytes);
    moved_[buffer] = wanted;
    inner_->start(buffer, shorter);
  }

  std::optional<Ended> next(bool wait) override {
    if (!ended_.empty()) {
      const auto first = ended_.begin();
      const Ended ended{first->first, first->second};
      ended_.erase(first);
      return ended;
    }
    std::optional<Ended> ended = inner_->next(wait);
    if (ended) ended->result = std::min(ended->result, moved_[ended->buffer]);
    return ended;
  }

 private:
  std::unique_ptr<TransferQueue> inner_;
  Fault fault_;
  int number_ = 0;
  std::map<size_t, int64_t> moved_;
  std::multimap<size_t, int64_t> ended_;
};

// For DiskStatesOptions::around_queue.
inline std::function<std::unique_ptr<TransferQueue>(std::unique_ptr<TransferQueue>)> with_fault(
    FaultyQueue::Fault fault) {
  return [fault = std::move(fault)](std::unique_ptr<TransferQueue> inner) {
    return std::make_unique<FaultyQueue>(std::move(inner), fault);
  };
}

}  // namespace headroom
