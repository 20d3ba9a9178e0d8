#include "train/offload/disk/whole_transfers.h"

#include <cerrno>
#include <system_error>

#include "files/mapped_file.h"
#include "files/replace_file.h"
#include "train/offload/disk/disk_layout.h"

namespace headroom {
namespace {

constexpr int kMostFruitless = 100;

[[noreturn]] void fail(const Transfer& transfer, const std::string& path,
                       const std::string& reason) {
  if (transfer.writes) throw WriteError("cannot write " + path + ": " + reason);
  throw ReadError(path, reason);
}

}  // namespace

void WholeTransfers::start(size_t buffer, const Transfer& transfer, const std::string& path) {
  of_buffer_[buffer] = {.rest = transfer, .path = &path};
  queue_->start(buffer, transfer);
  ++under_way_;
}

std::optional<size_t> WholeTransfers::next(bool wait) {
  while (under_way_ > 0) {
    const std::optional<TransferQueue::Ended> ended = queue_->next(wait);
    if (!ended) return std::nullopt;
    --under_way_;
    if (take(*ended)) return ended->buffer;
  }
  return std::nullopt;
}

// True if the transfer is complete; else starts its rest.
bool WholeTransfers::take(const TransferQueue::Ended& ended) {
  UnderWay& transfer = of_buffer_[ended.buffer];
  Transfer& rest = transfer.rest;
  if (ended.result < 0 && ended.result != -EINTR && ended.result != -EAGAIN) {
    fail(rest, *transfer.path, std::generic_category().message(static_cast<int>(-ended.result)));
  }
  if (ended.result == 0 && !rest.writes) fail(rest, *transfer.path, "it ends too early");
  if (ended.result >= rest.bytes) return true;
  // O_DIRECT continues only at a page, so a partial last page is repeated.
  const int64_t done = ended.result < 0 ? 0 : ended.result / DiskLayout::kPage * DiskLayout::kPage;
  transfer.fruitless = done > 0 ? 0 : transfer.fruitless + 1;
  if (transfer.fruitless > kMostFruitless) {
    fail(rest, *transfer.path,
         std::generic_category().message(ended.result < 0 ? static_cast<int>(-ended.result) : EIO));
  }
  rest.memory += done;
  rest.offset += done;
  rest.bytes -= done;
  queue_->start(ended.buffer, rest);
  ++under_way_;
  return false;
}

void WholeTransfers::drain() noexcept {
  try {
    for (; under_way_ > 0; --under_way_) queue_->next(true);
  } catch (...) {
    under_way_ = 0;  // the ring itself is broken
  }
}

}  // namespace headroom
