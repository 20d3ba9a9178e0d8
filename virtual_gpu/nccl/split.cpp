// Communicators made from communicators. Only the ranks themselves have their colors, so a split
// exchanges them; every rank of a shrink has the list of excluded ranks.
#include <algorithm>
#include <sstream>
#include <utility>

#include "virtual_gpu/nccl/communicator.h"
#include "virtual_gpu/nccl/memory/own_memory.h"
#include "virtual_gpu/nccl/values/carried.h"
#include "virtual_gpu/nccl/values/meeting.h"

using namespace virtual_gpu;

namespace {

struct Member {
  int color;
  int key;
  int rank;
};

Member member_of(const std::string& word, int rank) {
  Member member{.color = NCCL_SPLIT_NOCOLOR, .key = 0, .rank = rank};
  char comma = ',';
  std::istringstream(word) >> member.color >> comma >> member.key;
  return member;
}

std::string next_child(ncclComm* comm) {
  return comm->identity + "." + std::to_string(comm->children.fetch_add(1));
}

ncclResult_t check_child(const ncclComm* comm, ncclComm_t* child, const ncclConfig_t* config) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  if (child == nullptr) return nccl_failure(ncclInvalidArgument, "no place for the communicator");
  *child = nullptr;
  return check_config(config);
}

}  // namespace

extern "C" {

ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* child,
                           ncclConfig_t* config) {
  if (const ncclResult_t error = check_child(comm, child, config)) return error;
  if (color < 0 && color != NCCL_SPLIT_NOCOLOR) {
    return nccl_failure(ncclInvalidArgument, "color " + std::to_string(color));
  }
  const std::string identity = next_child(comm);
  const std::string word = std::to_string(color) + "," + std::to_string(key);
  if (are_peers_absent() && comm->size > 1) {
    return nccl_failure(ncclInvalidUsage,
                        "a split needs the colors of all ranks, which are absent");
  }
  const auto words = meet(identity, comm->rank, comm->size, word, until_end_of(comm));
  if (!words) {
    return nccl_failure(ncclInvalidUsage, "a split needs all ranks in one headroom dryrun");
  }
  if (color == NCCL_SPLIT_NOCOLOR) return ncclSuccess;
  std::vector<Member> members;
  for (int rank = 0; rank < comm->size; ++rank) {
    const Member member = member_of((*words)[static_cast<size_t>(rank)], rank);
    if (member.color == color) members.push_back(member);
  }
  std::sort(members.begin(), members.end(), [](const Member& a, const Member& b) {
    return std::pair(a.key, a.rank) < std::pair(b.key, b.rank);
  });
  const auto mine = std::find_if(members.begin(), members.end(),
                                 [&](const Member& member) { return member.rank == comm->rank; });
  *child =
      add_communicator(identity + "." + std::to_string(color), static_cast<int>(members.size()),
                       static_cast<int>(mine - members.begin()), config);
  return (*child)->own->set_up();
}

ncclResult_t ncclCommShrink(ncclComm_t comm, int* excluded, int count, ncclComm_t* child,
                            ncclConfig_t* config, int) {
  if (const ncclResult_t error = check_child(comm, child, config)) return error;
  if (excluded == nullptr || count < 1 || count >= comm->size) {
    return nccl_failure(ncclInvalidArgument,
                        std::to_string(count) + " ranks left out of " + std::to_string(comm->size));
  }
  std::vector<int> out(excluded, excluded + count);
  std::sort(out.begin(), out.end());
  const bool is_twice = std::adjacent_find(out.begin(), out.end()) != out.end();
  if (is_twice || out.front() < 0 || out.back() >= comm->size ||
      std::binary_search(out.begin(), out.end(), comm->rank)) {
    return nccl_failure(
        ncclInvalidArgument,
        "the excluded ranks contain an unknown rank, a duplicate or the calling rank");
  }
  const auto before = std::lower_bound(out.begin(), out.end(), comm->rank) - out.begin();
  *child = add_communicator(next_child(comm), comm->size - count,
                            comm->rank - static_cast<int>(before), config);
  return (*child)->own->set_up();
}

}  // extern "C"
