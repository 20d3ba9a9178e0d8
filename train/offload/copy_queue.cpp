#include "train/offload/copy_queue.h"

#include <c10/core/Event.h>
#include <c10/core/StreamGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

namespace headroom {
namespace {

using torch::Tensor;

// Runs on the current stream.
void copy_parts(const HostArena::Buffer& buffer, const Tensor& vector, bool out) {
  out ? scatter(vector, buffer) : gather(buffer, vector);
}

class StreamQueue final : public CopyQueue {
 public:
  explicit StreamQueue(torch::Device device)
      : device_(device),
        guard_(device.type()),
        stream_(guard_.getStreamFromGlobalPool(device, /*isHighPriority=*/false)) {}

  std::unique_ptr<Mark> mark() const override {
    return std::make_unique<Given>(device_, guard_.getStream(device_));
  }

 private:
  struct Given final : Mark {
    Given(torch::Device device, const c10::Stream& stream) : event(device.type()) {
      event.record(stream);
    }
    c10::Event event;
  };

  class Done final : public Copy {
   public:
    Done(torch::Device device, const c10::impl::VirtualGuardImpl& guard, const c10::Stream& stream)
        : device_(device), guard_(guard), event_(device.type()) {
      event_.record(stream);
    }
    void wait() override { event_.block(guard_.getStream(device_)); }
    void wait_on_host() override { event_.synchronize(); }

   private:
    torch::Device device_;
    const c10::impl::VirtualGuardImpl& guard_;
    c10::Event event_;
  };

  std::unique_ptr<Copy> copy(std::shared_ptr<HostArena::Buffer> buffer, const Tensor& vector,
                             Direction direction, const Mark* given) override {
    if (given != nullptr) {
      static_cast<const Given*>(given)->event.block(stream_);
    } else {
      Given(device_, guard_.getStream(device_)).event.block(stream_);
    }
    {
      const c10::StreamGuard beside(stream_);
      copy_parts(*buffer, vector, direction == Direction::kToHost);
    }
    return std::make_unique<Done>(device_, guard_, stream_);
  }

  torch::Device device_;
  c10::impl::VirtualGuardImpl guard_;
  c10::Stream stream_;
};

class ThreadQueue final : public CopyQueue {
 public:
  ThreadQueue() : thread_([this](const std::stop_token& stop) { work(stop); }) {}

 private:
  class Done final : public Copy {
   public:
    explicit Done(std::future<void> future) : future_(future.share()) {}
    void wait() override { future_.get(); }
    void wait_on_host() override { wait(); }

   private:
    std::shared_future<void> future_;
  };

  struct Task {
    std::shared_ptr<HostArena::Buffer> buffer;
    Tensor vector;
    Direction direction = Direction::kToHost;
    std::promise<void> done;

    // Drops its references before done: after its wait the caller may free the memory.
    void run() {
      try {
        copy_parts(*buffer, vector, direction == Direction::kToHost);
      } catch (...) {
        done.set_exception(std::current_exception());
        return;
      }
      buffer.reset();
      vector.reset();
      done.set_value();
    }
  };

  std::unique_ptr<Copy> copy(std::shared_ptr<HostArena::Buffer> buffer, const Tensor& vector,
                             Direction direction, const Mark* /*given*/) override {
    Task task{std::move(buffer), vector, direction, {}};
    auto done = std::make_unique<Done>(task.done.get_future());
    {
      const std::lock_guard lock(mutex_);
      tasks_.push_back(std::move(task));
    }
    changed_.notify_one();
    return done;
  }

  void work(const std::stop_token& stop) {
    const torch::NoGradGuard no_grad;
    while (true) {
      Task task;
      {
        std::unique_lock lock(mutex_);
        if (!changed_.wait(lock, stop, [this] { return !tasks_.empty(); })) return;
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task.run();
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Task> tasks_;
  std::jthread thread_;  // last member: it uses the others
};

}  // namespace

std::unique_ptr<CopyQueue> make_copy_queue(torch::Device device) {
  if (device.is_cpu()) return std::make_unique<ThreadQueue>();
  return std::make_unique<StreamQueue>(device);
}

}  // namespace headroom
