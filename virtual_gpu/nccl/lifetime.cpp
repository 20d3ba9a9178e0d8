// NCCL's communicators: creation, queries, destruction.
#include <random>
#include <set>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/nccl/group.h"
#include "virtual_gpu/nccl/memory/own_memory.h"
#include "virtual_gpu/nccl/values/carried.h"
#include "virtual_gpu/real_library/real_library.h"

using namespace virtual_gpu;

namespace {

std::string identity_of(const ncclUniqueId& id) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (size_t i = 0; i < 16; ++i) {
    const auto byte = static_cast<unsigned char>(id.internal[i]);
    text += kDigits[byte / 16];
    text += kDigits[byte % 16];
  }
  return text;
}

ncclResult_t make(ncclComm_t* comm, int size, const ncclUniqueId& id, int rank,
                  const ncclConfig_t* config) {
  if (const ncclResult_t error = check_cards()) return error;
  if (comm == nullptr) return nccl_failure(ncclInvalidArgument, "no place for the communicator");
  *comm = nullptr;
  if (size < 1 || rank < 0 || rank >= size) {
    return nccl_failure(ncclInvalidArgument, "rank " + std::to_string(rank) + " of " +
                                                 std::to_string(size) + " ranks is out of range");
  }
  if (const ncclResult_t error = check_config(config)) return error;
  *comm = add_communicator(identity_of(id), size, rank, config);
  const ncclResult_t error = join(*comm);
  if (error != ncclSuccess) *comm = nullptr;
  return error;
}

// NULL is no error, as with NCCL.
ncclResult_t end(ncclComm_t comm) {
  if (comm == nullptr) return ncclSuccess;
  if (const ncclResult_t error = check_communicator(comm)) return error;
  compare_with_peers(comm);
  Machine::get().streams.synchronize_device(comm->device);
  comm->own->release();
  comm->is_destroyed = true;
  return ncclSuccess;
}

ncclResult_t answer(const ncclComm* comm, int ncclComm::*member, int* place) {
  if (place == nullptr) return nccl_failure(ncclInvalidArgument, "no place for the answer");
  if (const ncclResult_t error = check_communicator(comm)) return error;
  *place = comm->*member;
  return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t ncclGetVersion(int* version) {
  if (version == nullptr) return nccl_failure(ncclInvalidArgument, "no place for the version");
  static const auto real =
      reinterpret_cast<ncclResult_t (*)(int*)>(real_function("libnccl", "ncclGetVersion"));
  if (real != nullptr) return real(version);  // libtorch's own NCCL
  *version = NCCL_VERSION_CODE;
  return ncclSuccess;
}

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  if (id == nullptr) return nccl_failure(ncclInvalidArgument, "no place for the unique id");
  std::random_device random;
  for (char& byte : id->internal) byte = static_cast<char>(random());
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int size, ncclUniqueId id, int rank) {
  return make(comm, size, id, rank, nullptr);
}

ncclResult_t ncclCommInitRankConfig(ncclComm_t* comm, int size, ncclUniqueId id, int rank,
                                    ncclConfig_t* config) {
  return make(comm, size, id, rank, config);
}

ncclResult_t ncclCommInitRankScalable(ncclComm_t* comm, int size, int rank, int ids,
                                      ncclUniqueId* id, ncclConfig_t* config) {
  if (ids < 1 || ids > size || id == nullptr) {
    return nccl_failure(ncclInvalidArgument,
                        std::to_string(ids) + " unique ids for " + std::to_string(size) + " ranks");
  }
  return make(comm, size, id[0], rank, config);
}

ncclResult_t ncclCommInitAll(ncclComm_t* comms, int count, const int* devices) {
  if (const ncclResult_t error = check_cards()) return error;
  const int cards = Machine::get().count();
  if (comms == nullptr || count < 1) {
    return nccl_failure(ncclInvalidArgument, std::to_string(count) + " devices");
  }
  std::set<int> used;
  for (int i = 0; i < count; ++i) {
    const int device = devices == nullptr ? i : devices[i];
    if (device < 0 || device >= cards) {
      return nccl_failure(ncclUnhandledCudaError, "device " + std::to_string(device) + " of " +
                                                      std::to_string(cards) + " is none");
    }
    if (!used.insert(device).second) {
      return nccl_failure(ncclInvalidUsage, "device " + std::to_string(device) + " twice");
    }
  }
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  const int before = Machine::current();
  for (int i = 0; i < count; ++i) {
    Machine::set_current(devices == nullptr ? i : devices[i]);
    comms[i] = add_communicator(identity_of(id), count, i, nullptr);
    if (const ncclResult_t error = comms[i]->own->set_up()) {
      Machine::set_current(before);
      return error;
    }
  }
  Machine::set_current(before);
  return ncclSuccess;
}

ncclResult_t ncclCommFinalize(ncclComm_t comm) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  if (comm->is_finalized.exchange(true)) {
    return nccl_failure(ncclInvalidArgument, "the communicator was finalized already");
  }
  Machine::get().streams.synchronize_device(comm->device);
  return ncclSuccess;
}

ncclResult_t ncclCommDestroy(ncclComm_t comm) { return end(comm); }
ncclResult_t ncclCommAbort(ncclComm_t comm) { return end(comm); }

ncclResult_t ncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* error) {
  if (error == nullptr) return nccl_failure(ncclInvalidArgument, "no place for the answer");
  *error = ncclSuccess;
  return check_communicator(comm);
}

ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  return answer(comm, &ncclComm::size, count);
}

ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  return answer(comm, &ncclComm::rank, rank);
}

// NCCL's own texts: programs print and match them.
const char* ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the NCCL developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    default:
      return "unknown result code";
  }
}

const char* ncclGetLastError(ncclComm_t) { return nccl_last_error(); }

}  // extern "C"
