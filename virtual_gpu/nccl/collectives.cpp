// NCCL's collectives and point to point: checked, counted, and done when issued. Buffers are not
// checked beyond their known contents: NCCL does not either (NCCL_CHECK_POINTERS is 0).
#include "virtual_gpu/nccl/group.h"
#include "virtual_gpu/nccl/reduction.h"
#include "virtual_gpu/nccl/values/carried.h"
#include "virtual_gpu/nccl/values/reduced.h"

using namespace virtual_gpu;

namespace {

ncclResult_t check(const Exchange& call, const ncclComm* comm) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  const std::string name = name_of(call.kind);
  if (call.other < 0 || call.other >= comm->size) {
    return nccl_failure(ncclInvalidArgument, name + ": rank " + std::to_string(call.other) +
                                                 " of " + std::to_string(comm->size));
  }
  if (bytes_of(call.type) == 0) {
    return nccl_failure(ncclInvalidArgument, name + ": invalid type " + std::to_string(call.type));
  }
  if (!is_reduction(comm, call.operation)) {
    return nccl_failure(ncclInvalidArgument,
                        name + ": invalid reduction " + std::to_string(call.operation));
  }
  return ncclSuccess;
}

// True if one or both buffers have one part per rank.
bool has_part_per_rank(Traffic kind) {
  return kind == Traffic::kAllGather || kind == Traffic::kAllToAll ||
         kind == Traffic::kReduceScatter;
}

ncclResult_t run(const Exchange& call, ncclComm* comm, cudaStream_t stream) {
  if (const ncclResult_t error = check(call, comm)) return note_in_group(error);
  const uint64_t parts = has_part_per_rank(call.kind) ? static_cast<uint64_t>(comm->size) : 1;
  if (!is_captured(stream)) carry(comm, call);
  return note_in_group(
      enqueue(comm, call.kind, call.other, call.count * bytes_of(call.type) * parts, stream));
}

// The part of a rank in a buffer that has one per rank.
void* part(const void* buffer, int rank, size_t count, ncclDataType_t type) {
  const auto offset = static_cast<size_t>(rank) * count * bytes_of(type);
  return const_cast<char*>(static_cast<const char*>(buffer)) + offset;
}

}  // namespace

extern "C" {

ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kAllGather, from, to, count, type}, comm, stream);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kAllReduce, from, to, count, type, 0, operation}, comm, stream);
}

ncclResult_t ncclAlltoAll(const void* from, void* to, size_t count, ncclDataType_t type,
                          ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kAllToAll, from, to, count, type}, comm, stream);
}

ncclResult_t ncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return run({Traffic::kBroadcast, buffer, buffer, count, type, root}, comm, stream);
}

ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kBroadcast, from, to, count, type, root}, comm, stream);
}

// Each is a group of sends and receives, as programs write it for an older NCCL.
ncclResult_t ncclGather(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  if (const ncclResult_t error = check_communicator(comm)) return note_in_group(error);
  ncclGroupStart();
  for (int peer = 0; comm->rank == root && peer < comm->size; ++peer) {
    ncclRecv(part(to, peer, count, type), count, type, peer, comm, stream);
  }
  ncclSend(from, count, type, root, comm, stream);
  return ncclGroupEnd();
}

ncclResult_t ncclScatter(const void* from, void* to, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
  if (const ncclResult_t error = check_communicator(comm)) return note_in_group(error);
  ncclGroupStart();
  for (int peer = 0; comm->rank == root && peer < comm->size; ++peer) {
    ncclSend(part(from, peer, count, type), count, type, peer, comm, stream);
  }
  ncclRecv(to, count, type, root, comm, stream);
  return ncclGroupEnd();
}

ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kReduce, from, to, count, type, root, operation}, comm, stream);
}

ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kReduceScatter, from, to, count, type, 0, operation}, comm, stream);
}

ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer,
                      ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kSend, from, nullptr, count, type, peer}, comm, stream);
}

ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return run({Traffic::kRecv, nullptr, to, count, type, peer}, comm, stream);
}

}  // extern "C"
