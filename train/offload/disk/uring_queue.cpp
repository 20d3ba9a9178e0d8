#include <liburing.h>
#include <sys/uio.h>

#include <cerrno>
#include <system_error>

#include "train/offload/disk/transfer_queue.h"

namespace headroom {
namespace {

std::string words_of_error(int error) { return std::generic_category().message(error); }

class UringQueue : public TransferQueue {
 public:
  UringQueue() = default;
  ~UringQueue() override {
    if (open_) io_uring_queue_exit(&ring_);
  }
  UringQueue(const UringQueue&) = delete;
  UringQueue& operator=(const UringQueue&) = delete;

  // 0 or an errno.
  int open(size_t transfers) {
    const int result = io_uring_queue_init(static_cast<unsigned>(transfers), &ring_, 0);
    open_ = result == 0;
    return -result;
  }

  // Registered once, so the kernel does not look up and pin the pages for every transfer.
  int register_buffers(const std::vector<TransferMemory>& buffers) {
    std::vector<iovec> list;
    for (const TransferMemory& each : buffers) list.push_back({each.memory, each.bytes});
    const int result =
        io_uring_register_buffers(&ring_, list.data(), static_cast<unsigned>(list.size()));
    registered_ = result == 0;
    return -result;
  }

  void start(size_t buffer, const Transfer& transfer) override {
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);  // never null: there is one per buffer
    const auto bytes = static_cast<unsigned>(transfer.bytes);
    const auto offset = static_cast<uint64_t>(transfer.offset);
    const int index = static_cast<int>(buffer);
    if (registered_ && transfer.writes) {
      io_uring_prep_write_fixed(entry, transfer.file, transfer.memory, bytes, offset, index);
    } else if (registered_) {
      io_uring_prep_read_fixed(entry, transfer.file, transfer.memory, bytes, offset, index);
    } else if (transfer.writes) {
      io_uring_prep_write(entry, transfer.file, transfer.memory, bytes, offset);
    } else {
      io_uring_prep_read(entry, transfer.file, transfer.memory, bytes, offset);
    }
    io_uring_sqe_set_data64(entry, buffer);
    submit();
  }

  std::optional<Ended> next(bool wait) override {
    io_uring_cqe* entry = nullptr;
    int result = 0;
    do {
      result = wait ? io_uring_wait_cqe(&ring_, &entry) : io_uring_peek_cqe(&ring_, &entry);
    } while (result == -EINTR);
    if (result == -EAGAIN && !wait) return std::nullopt;
    if (result != 0) throw std::system_error(-result, std::generic_category(), "io_uring");
    const Ended ended{io_uring_cqe_get_data64(entry), entry->res};
    io_uring_cqe_seen(&ring_, entry);
    return ended;
  }

 private:
  void submit() {
    int result = 0;
    do {
      result = io_uring_submit(&ring_);
    } while (result == -EINTR || result == -EAGAIN || result == -EBUSY);
    if (result < 0) throw std::system_error(-result, std::generic_category(), "io_uring");
  }

  io_uring ring_{};
  bool open_ = false;
  bool registered_ = false;
};

}  // namespace

std::unique_ptr<TransferQueue> make_transfer_queue(const std::vector<TransferMemory>& buffers,
                                                   size_t threads,
                                                   std::vector<std::string>& notes) {
  auto queue = std::make_unique<UringQueue>();
  if (const int error = queue->open(buffers.size())) {
    notes.push_back("the kernel refuses io_uring (" + words_of_error(error) +
                    "): " + std::to_string(threads) + " threads read and write");
    return make_thread_queue(threads);
  }
  if (const int error = queue->register_buffers(buffers)) {
    notes.push_back("io_uring without registered buffers (" + words_of_error(error) +
                    "; ulimit -l limits the registered memory)");
  }
  return queue;
}

}  // namespace headroom
