// NCCL's collectives and point to point: checked, counted, and done the moment they are issued.
// Nothing is sent. Buffers are not looked at: NCCL does not either (NCCL_CHECK_POINTERS is 0).
#include "virtual_gpu/nccl/group.h"
#include "virtual_gpu/nccl/reduction.h"

using namespace virtual_gpu;

namespace {

uint64_t bytes_of(ncclDataType_t type) {
  switch (type) {
    case ncclInt8:
    case ncclUint8:
    case ncclFloat8e4m3:
    case ncclFloat8e5m2:
      return 1;
    case ncclFloat16:
    case ncclBfloat16:
      return 2;
    case ncclInt32:
    case ncclUint32:
    case ncclFloat32:
      return 4;
    case ncclInt64:
    case ncclUint64:
    case ncclFloat64:
      return 8;
    default:
      return 0;
  }
}

struct Call {
  Traffic kind;
  uint64_t count;  // elements of the larger buffer, or of one rank's part of it
  ncclDataType_t type;
  bool has_part_per_rank = false;
  int other = 0;  // root, or the peer
  ncclRedOp_t operation = ncclSum;
};

ncclResult_t check(const Call& call, const ncclComm* comm) {
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

ncclResult_t run(const Call& call, ncclComm* comm, cudaStream_t stream) {
  if (const ncclResult_t error = check(call, comm)) return note_in_group(error);
  const uint64_t parts = call.has_part_per_rank ? static_cast<uint64_t>(comm->size) : 1;
  return note_in_group(enqueue(comm, call.kind, call.count * bytes_of(call.type) * parts, stream));
}

}  // namespace

extern "C" {

ncclResult_t ncclAllGather(const void*, void*, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return run({Traffic::kAllGather, count, type, true}, comm, stream);
}

ncclResult_t ncclAllReduce(const void*, void*, size_t count, ncclDataType_t type,
                           ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kAllReduce, count, type, false, 0, operation}, comm, stream);
}

ncclResult_t ncclAlltoAll(const void*, void*, size_t count, ncclDataType_t type, ncclComm_t comm,
                          cudaStream_t stream) {
  return run({Traffic::kAllToAll, count, type, true}, comm, stream);
}

ncclResult_t ncclBcast(void*, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                       cudaStream_t stream) {
  return run({Traffic::kBroadcast, count, type, false, root}, comm, stream);
}

ncclResult_t ncclBroadcast(const void*, void*, size_t count, ncclDataType_t type, int root,
                           ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kBroadcast, count, type, false, root}, comm, stream);
}

ncclResult_t ncclReduce(const void*, void*, size_t count, ncclDataType_t type,
                        ncclRedOp_t operation, int root, ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kReduce, count, type, false, root, operation}, comm, stream);
}

ncclResult_t ncclReduceScatter(const void*, void*, size_t count, ncclDataType_t type,
                               ncclRedOp_t operation, ncclComm_t comm, cudaStream_t stream) {
  return run({Traffic::kReduceScatter, count, type, true, 0, operation}, comm, stream);
}

ncclResult_t ncclSend(const void*, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return run({Traffic::kSend, count, type, false, peer}, comm, stream);
}

ncclResult_t ncclRecv(void*, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return run({Traffic::kRecv, count, type, false, peer}, comm, stream);
}

}  // extern "C"
