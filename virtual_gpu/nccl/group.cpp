#include "virtual_gpu/nccl/group.h"

#include <algorithm>
#include <atomic>
#include <utility>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/nccl/memory/own_memory.h"
#include "virtual_gpu/nccl/values/carried.h"

using namespace virtual_gpu;

namespace {

struct Launch {
  ncclComm* comm;
  cudaStream_t stream;
  bool operator==(const Launch&) const = default;
};

struct Group {
  int depth = 0;
  uint64_t number = 0;
  ncclResult_t error = ncclSuccess;
  std::vector<Launch> launches;
  std::vector<ncclComm*> joins;
};
thread_local Group group;

ncclResult_t make_ready(ncclComm* comm) {
  if (const ncclResult_t error = await_peers(comm)) return error;
  return comm->own->set_up();
}

ncclResult_t launch(const Launch& one) {
  if (const ncclResult_t error = check_cards()) return error;
  Machine& machine = Machine::get();
  if (machine.streams.notes_work() &&
      machine.streams.issue(machine.stream(one.stream), NodeKind::kKernel, 0)) {
    return ncclSuccess;
  }
  machine.streams.collective();
  machine.device(one.comm->device).counters.launches.fetch_add(1, std::memory_order_relaxed);
  return ncclSuccess;
}

}  // namespace

namespace virtual_gpu {

ncclResult_t enqueue(ncclComm* comm, Traffic kind, int other, uint64_t bytes, cudaStream_t stream) {
  TrafficCount& count = comm->traffic[static_cast<size_t>(kind)];
  count.calls.fetch_add(1, std::memory_order_relaxed);
  count.bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (const ncclResult_t error = comm->own->connect(kind, other, bytes)) return error;
  const Launch one{comm, stream};
  if (group.depth == 0) return launch(one);
  if (std::find(group.launches.begin(), group.launches.end(), one) == group.launches.end()) {
    group.launches.push_back(one);
  }
  return ncclSuccess;
}

ncclResult_t join(ncclComm* comm) {
  if (group.depth == 0) return make_ready(comm);
  group.joins.push_back(comm);
  return ncclSuccess;
}

bool is_captured(cudaStream_t stream) {
  Machine& machine = Machine::get();
  return machine.streams.any_capture() &&
         machine.streams.capture_of(machine.stream(stream)).has_value();
}

uint64_t group_number() { return group.depth > 0 ? group.number : 0; }

ncclResult_t note_in_group(ncclResult_t error) {
  if (group.depth > 0 && error != ncclSuccess && group.error == ncclSuccess) group.error = error;
  return error;
}

}  // namespace virtual_gpu

extern "C" {

ncclResult_t ncclGroupStart() {
  static std::atomic<uint64_t> groups{0};
  if (group.depth++ == 0) group.number = groups.fetch_add(1, std::memory_order_relaxed) + 1;
  return ncclSuccess;
}

ncclResult_t ncclGroupEnd() {
  if (group.depth == 0) return nccl_failure(ncclInvalidUsage, "no group was started");
  if (--group.depth > 0) return ncclSuccess;
  const Group ended = std::exchange(group, Group{});
  if (ended.error != ncclSuccess) return ended.error;
  for (ncclComm* comm : ended.joins) {
    if (const ncclResult_t error = make_ready(comm)) return error;
  }
  for (const Launch& one : ended.launches) {
    if (const ncclResult_t error = launch(one)) return error;
  }
  return ncclSuccess;
}

}  // extern "C"
