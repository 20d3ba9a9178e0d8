#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "train/offload/disk/transfer_queue.h"

namespace headroom {
namespace {

class ThreadQueue : public TransferQueue {
 public:
  explicit ThreadQueue(size_t threads) {
    try {
      for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
    } catch (...) {
      stop();
      throw;
    }
  }
  ~ThreadQueue() override { stop(); }

  void start(size_t buffer, const Transfer& transfer) override {
    {
      const std::lock_guard lock(mutex_);
      wanted_.push_back({buffer, transfer});
    }
    more_wanted_.notify_one();
  }

  std::optional<Ended> next(bool wait) override {
    std::unique_lock lock(mutex_);
    if (wait) more_ended_.wait(lock, [this] { return !ended_.empty(); });
    if (ended_.empty()) return std::nullopt;
    const Ended first = ended_.front();
    ended_.pop_front();
    return first;
  }

 private:
  struct Wanted {
    size_t buffer;
    Transfer transfer;
  };

  static int64_t run(const Transfer& transfer) {
    const auto bytes = static_cast<size_t>(transfer.bytes);
    const ssize_t done = transfer.writes
                             ? pwrite(transfer.file, transfer.memory, bytes, transfer.offset)
                             : pread(transfer.file, transfer.memory, bytes, transfer.offset);
    return done < 0 ? -int64_t{errno} : done;
  }

  void work() {
    std::unique_lock lock(mutex_);
    while (true) {
      more_wanted_.wait(lock, [this] { return stopped_ || !wanted_.empty(); });
      if (stopped_) return;
      const Wanted first = wanted_.front();
      wanted_.pop_front();
      lock.unlock();
      const int64_t result = run(first.transfer);
      lock.lock();
      ended_.push_back({first.buffer, result});
      more_ended_.notify_one();
    }
  }

  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    more_wanted_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }

  std::mutex mutex_;
  std::condition_variable more_wanted_;
  std::condition_variable more_ended_;
  std::deque<Wanted> wanted_;
  std::deque<Ended> ended_;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace

std::unique_ptr<TransferQueue> make_thread_queue(size_t threads) {
  return std::make_unique<ThreadQueue>(threads);
}

}  // namespace headroom
