#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <utility>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/nccl/values/carried.h"
#include "virtual_gpu/nccl/values/meeting.h"

namespace virtual_gpu {
namespace {

std::string card_of(int device) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const char c : Machine::get().uuid(device)) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

}  // namespace

bool are_peers_absent() {
  static const bool are_absent = [] {
    const char* set = std::getenv("HEADROOM_VIRTUAL_ABSENT");
    return set != nullptr && std::string(set) == "1";
  }();
  return are_absent;
}

void find_peers(ncclComm* comm) {
  auto peers = std::make_shared<Peers>();
  peers->received.resize(static_cast<size_t>(comm->size));
  const std::optional<std::string> stem = shared_stem("nccl", comm->identity);
  if (comm->size == 1) {
    peers->kind = Peers::Kind::kNone;
  } else if (are_peers_absent()) {
    peers->kind = Peers::Kind::kAbsent;
  } else {
    peers->kind = stem ? Peers::Kind::kTogether : Peers::Kind::kSilent;
  }
  if (stem && comm->size > 1) {
    peers->journal = std::make_unique<Journal>(*stem, comm->rank, card_of(comm->device));
    for (int rank = 0; rank < comm->size; ++rank) {
      peers->readers.push_back(std::make_unique<JournalReader>(*stem, rank));
    }
  }
  comm->peers = std::move(peers);
}

ncclResult_t await_peers(ncclComm* comm) {
  const Peers& peers = *comm->peers;
  if (peers.kind != Peers::Kind::kTogether) return ncclSuccess;
  std::vector<std::string> cards;
  for (int rank = 0; rank < comm->size; ++rank) {
    const auto card = peers.readers[static_cast<size_t>(rank)]->card(until_end_of(comm));
    if (!card) {
      return nccl_failure(ncclRemoteError, "rank " + std::to_string(rank) + " of " +
                                               std::to_string(comm->size) + " did not join");
    }
    for (size_t other = 0; other < cards.size(); ++other) {
      if (cards[other] != *card) continue;
      const std::string why = "Duplicate GPU detected : rank " + std::to_string(other) +
                              " and rank " + std::to_string(rank) + " both on one CUDA device";
      std::fprintf(stderr, "virtual GPU: NCCL: %s\n", why.c_str());
      return nccl_failure(ncclInvalidUsage, why);
    }
    cards.push_back(*card);
  }
  return ncclSuccess;
}

void compare_with_peers(ncclComm* comm) {
  Peers& peers = *comm->peers;
  if (peers.kind != Peers::Kind::kTogether) return;
  const auto rank = static_cast<size_t>(comm->rank);
  const size_t neighbour = (rank + 1) % peers.readers.size();
  const std::vector<Entry> ours = peers.readers[rank]->collectives();
  const std::vector<Entry> theirs = peers.readers[neighbour]->collectives();
  for (size_t n = 0; n < std::min(ours.size(), theirs.size()); ++n) {
    if (ours[n].agrees(theirs[n])) continue;
    const std::lock_guard lock(peers.mutex);
    if (std::exchange(peers.has_said_difference, true)) return;
    const auto text = [](const Entry& entry) {
      return std::string(name_of(static_cast<Traffic>(entry.kind))) + " of " +
             std::to_string(entry.count) + " elements of type " + std::to_string(entry.type);
    };
    std::fprintf(stderr,
                 "virtual GPU: NCCL: collective %zu of a communicator of %d ranks differs: rank %d "
                 "%s, rank %zu %s; on cards this hangs or gives garbage\n",
                 n, comm->size, comm->rank, text(ours[n]).c_str(), neighbour,
                 text(theirs[n]).c_str());
    return;
  }
}

}  // namespace virtual_gpu
