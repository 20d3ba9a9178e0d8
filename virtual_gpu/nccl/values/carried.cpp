#include "virtual_gpu/nccl/values/carried.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/nccl/group.h"
#include "virtual_gpu/nccl/reduction.h"
#include "virtual_gpu/nccl/values/reduced.h"

namespace virtual_gpu {
namespace {

// User-defined reductions have numbers that differ from rank to rank: one number represents all.
Entry entry_of(const Exchange& exchange, Bytes bytes) {
  return {.kind = static_cast<int32_t>(exchange.kind),
          .other = exchange.other,
          .type = exchange.type,
          .operation = std::min<int32_t>(exchange.operation, ncclNumOps),
          .count = exchange.count,
          .is_known = !bytes.empty(),
          .bytes = std::move(bytes)};
}

// The ranks' inputs to one collective, read when the result is.
class Result : public Source {
 public:
  // From all ranks, or from `only`: its bytes [begin, begin + bytes), or all if bytes is 0.
  struct Wanted {
    int only = -1;
    uint64_t begin = 0;
    uint64_t bytes = 0;
  };
  Result(const ncclComm* comm, size_t number, std::shared_ptr<const Entry> own, Wanted wanted)
      : comm_(comm), number_(number), own_(std::move(own)), wanted_(wanted) {}

  const Bytes* bytes() override {
    std::call_once(once_, [this] { result_ = find(); });
    return result_ ? &*result_ : nullptr;
  }

 private:
  // nullopt if it never comes or differs.
  std::optional<Entry> of_rank(int rank) const {
    if (rank == comm_->rank || comm_->peers->kind == Peers::Kind::kAbsent) return *own_;
    JournalReader& reader = *comm_->peers->readers[static_cast<size_t>(rank)];
    auto theirs = reader.collective(number_, until_end_of(comm_));
    if (theirs && own_->agrees(*theirs)) return theirs;
    return std::nullopt;
  }

  std::optional<Bytes> find() const {
    if (wanted_.only >= 0) {
      const auto one = of_rank(wanted_.only);
      return one && one->is_known ? std::optional(part(one->bytes)) : std::nullopt;
    }
    std::vector<Bytes> inputs;
    for (int rank = 0; rank < comm_->size; ++rank) {
      const auto one = of_rank(rank);
      if (!one || !one->is_known) return std::nullopt;
      inputs.push_back(part(one->bytes));
    }
    std::vector<const Bytes*> pointers;
    for (const Bytes& input : inputs) pointers.push_back(&input);
    return reduced(pointers, static_cast<ncclDataType_t>(own_->type),
                   static_cast<ncclRedOp_t>(own_->operation));
  }

  Bytes part(const Bytes& whole) const {
    if (wanted_.bytes == 0) return whole;
    const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(wanted_.begin);
    return Bytes(begin, begin + static_cast<std::ptrdiff_t>(wanted_.bytes));
  }

  const ncclComm* comm_;
  const size_t number_;
  const std::shared_ptr<const Entry> own_;
  const Wanted wanted_;
  std::once_flag once_;
  std::optional<Bytes> result_;
};

// Data that another rank sends.
class Received : public Source {
 public:
  // `echo`: what an absent rank sends if it has never run; nullptr = unknown.
  Received(const ncclComm* comm, int from, size_t number, uint64_t bytes, Echo echo)
      : comm_(comm), from_(from), number_(number), size_(bytes), echo_(std::move(echo)) {}

  const Bytes* bytes() override {
    std::call_once(once_, [this] {
      JournalReader& reader = *comm_->peers->readers[static_cast<size_t>(from_)];
      const bool has_ended = comm_->peers->kind == Peers::Kind::kAbsent;
      sent_ =
          reader.sent(number_, comm_->rank, has_ended ? [] { return true; } : until_end_of(comm_));
    });
    if (!sent_ && echo_ != nullptr && echo_->size() == size_) return echo_.get();
    return sent_ && sent_->is_known && sent_->bytes.size() >= size_ ? &sent_->bytes : nullptr;
  }

 private:
  const ncclComm* comm_;
  const int from_;
  const size_t number_;
  const uint64_t size_;
  const Echo echo_;
  std::once_flag once_;
  std::optional<Entry> sent_;
};

struct Sizes {
  uint64_t part;  // one rank's part
  uint64_t in;    // input here
  uint64_t out;   // output here
};

Sizes sizes_of(const Exchange& exchange, const ncclComm* comm) {
  const uint64_t part = exchange.count * bytes_of(exchange.type);
  const uint64_t all = part * static_cast<uint64_t>(comm->size);
  const bool is_root = exchange.other == comm->rank;
  switch (exchange.kind) {
    case Traffic::kAllGather:
      return {part, part, all};
    case Traffic::kAllToAll:
      return {part, all, all};
    case Traffic::kReduceScatter:
      return {part, all, part};
    case Traffic::kBroadcast:
      return {part, is_root ? part : 0, part};
    case Traffic::kReduce:
      return {part, part, is_root ? part : 0};
    case Traffic::kSend:
      return {part, part, 0};
    case Traffic::kRecv:
      return {part, 0, part};
    default:
      return {part, part, part};
  }
}

Bytes known_bytes(const void* from, uint64_t bytes) {
  const Contents& contents = Machine::get().contents;
  if (bytes == 0 || bytes > contents.most_at_once()) return {};
  Bytes read(bytes);
  if (!contents.read(as_address(from), bytes, read.data())) return {};
  return read;
}

// Counts every receive, whatever its size, as the sender does.
size_t number_of_receive(Peers& peers, int from) {
  const std::lock_guard lock(peers.mutex);
  return peers.received[static_cast<size_t>(from)]++;
}

void receive(ncclComm* comm, const Exchange& exchange, uint64_t bytes) {
  Contents& contents = Machine::get().contents;
  contents.forget(as_address(exchange.to), bytes);
  if (comm->peers->kind == Peers::Kind::kSilent || comm->peers->readers.empty()) return;
  const size_t number = number_of_receive(*comm->peers, exchange.other);
  Echo echo;
  if (comm->peers->kind == Peers::Kind::kAbsent) {
    echo = comm->peers->simulated.of_receive(group_number(), exchange.other);
  }
  if (bytes == 0 || bytes > contents.most_at_once()) return;
  contents.put(
      as_address(exchange.to),
      {std::make_shared<Received>(comm, exchange.other, number, bytes, std::move(echo)), 0, bytes});
}

// Puts the future result into the output buffer.
void put_result(const ncclComm* comm, const Exchange& exchange, const Sizes& sizes, size_t number,
                const std::shared_ptr<const Entry>& own) {
  Contents& contents = Machine::get().contents;
  const uint64_t to = as_address(exchange.to);
  const auto put = [&](uint64_t offset, uint64_t bytes, Result::Wanted wanted) {
    contents.put(to + offset, {std::make_shared<Result>(comm, number, own, wanted), 0, bytes});
  };
  const auto me = static_cast<uint64_t>(comm->rank);
  switch (exchange.kind) {
    case Traffic::kAllGather:
    case Traffic::kAllToAll:
      for (int rank = 0; rank < comm->size; ++rank) {
        const bool is_gather = exchange.kind == Traffic::kAllGather;
        // An absent peer would send us what we send it.
        const bool is_echo = comm->peers->kind == Peers::Kind::kAbsent;
        const uint64_t theirs = is_echo ? static_cast<uint64_t>(rank) : me;
        put(static_cast<uint64_t>(rank) * sizes.part, sizes.part,
            {rank, is_gather ? 0 : theirs * sizes.part, is_gather ? 0 : sizes.part});
      }
      return;
    case Traffic::kBroadcast:
      return put(0, sizes.out, {exchange.other, 0, 0});
    case Traffic::kReduceScatter:
      if (own->is_known) put(0, sizes.out, {-1, me * sizes.part, sizes.part});
      return;
    default:
      if (own->is_known) put(0, sizes.out, {-1, 0, 0});
      return;
  }
}

// An absent root's broadcast, if it ran before us; false if that is not known.
bool is_told_by_root(const ncclComm* comm, const Exchange& exchange, size_t number,
                     const Entry& own) {
  const Peers& peers = *comm->peers;
  if (peers.readers.empty()) return false;
  const auto sent =
      peers.readers[static_cast<size_t>(exchange.other)]->collective(number, [] { return true; });
  if (!sent || !sent->agrees(own) || !sent->is_known) return false;
  Machine::get().contents.write(as_address(exchange.to), sent->bytes.data(), sent->bytes.size());
  return true;
}

}  // namespace

void carry(ncclComm* comm, const Exchange& exchange) {
  Machine& machine = Machine::get();
  Peers& peers = *comm->peers;
  const Sizes sizes = sizes_of(exchange, comm);
  auto own = std::make_shared<const Entry>(entry_of(
      exchange,
      contribution(known_bytes(exchange.from, sizes.in), exchange.type, exchange.operation)));
  const bool is_between_two = exchange.kind == Traffic::kSend || exchange.kind == Traffic::kRecv;
  size_t number = 0;
  if (!is_between_two) number = peers.collectives.fetch_add(1, std::memory_order_relaxed);
  if (peers.journal != nullptr && exchange.kind != Traffic::kRecv) peers.journal->add(*own);
  if (exchange.kind == Traffic::kSend && peers.kind == Peers::Kind::kAbsent) {
    peers.simulated.add_sent(group_number(), exchange.other, own->bytes);
  }
  if (exchange.kind == Traffic::kRecv) return receive(comm, exchange, sizes.out);
  if (sizes.out == 0) return;
  const bool is_echo_of_nothing = exchange.kind == Traffic::kBroadcast &&
                                  peers.kind == Peers::Kind::kAbsent &&
                                  exchange.other != comm->rank;
  if (is_echo_of_nothing) {  // the root would send what is here already
    if (is_told_by_root(comm, exchange, number, *own)) return;
    if (exchange.from != exchange.to) {
      machine.contents.copy(as_address(exchange.to), as_address(exchange.from), sizes.out);
    }
    return;
  }
  machine.contents.forget(as_address(exchange.to), sizes.out);
  if (peers.kind == Peers::Kind::kSilent || sizes.out > machine.contents.most_at_once()) return;
  put_result(comm, exchange, sizes, number, own);
}

}  // namespace virtual_gpu
