#include "virtual_gpu/nccl/reduction.h"

#include <map>
#include <mutex>
#include <utility>

#include "virtual_gpu/device/machine.h"
#include "virtual_gpu/nccl/values/reduced.h"

using namespace virtual_gpu;

namespace {

struct Reduction {
  const ncclComm* comm;
  Bytes scalar;     // on the host: copied at once
  uint64_t at = 0;  // on the card: read when the reduction runs
};

struct Made {
  std::mutex mutex;
  std::map<int, Reduction> by_number;
  int next = ncclNumOps;
};

Made& made() {
  static auto* all = new Made();
  return *all;
}

}  // namespace

namespace virtual_gpu {

bool is_reduction(const ncclComm* comm, ncclRedOp_t operation) {
  const int number = operation;
  if (number < ncclNumOps) return number >= 0;
  const std::lock_guard lock(made().mutex);
  const auto found = made().by_number.find(number);
  return found != made().by_number.end() && found->second.comm == comm;
}

Bytes contribution(Bytes bytes, ncclDataType_t type, ncclRedOp_t operation) {
  if (operation < ncclNumOps || bytes.empty()) return bytes;
  Reduction own;
  {
    const std::lock_guard lock(made().mutex);
    own = made().by_number.at(operation);
  }
  if (own.at != 0) {
    own.scalar.resize(bytes_of(type));
    if (!Machine::get().contents.read(own.at, own.scalar.size(), own.scalar.data())) return {};
  }
  return multiplied_by(std::move(bytes), type, own.scalar).value_or(Bytes());
}

}  // namespace virtual_gpu

extern "C" {

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t residence, ncclComm_t comm) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  if (operation == nullptr || scalar == nullptr || type < 0 || type >= ncclNumTypes) {
    return nccl_failure(ncclInvalidArgument, "no place, scalar or type of the reduction");
  }
  Reduction own{.comm = comm, .scalar = {}};
  if (residence == ncclScalarDevice) {
    own.at = reinterpret_cast<uint64_t>(scalar);
  } else {
    const auto* first = static_cast<const Bytes::value_type*>(scalar);
    own.scalar.assign(first, first + bytes_of(type));
  }
  const std::lock_guard lock(made().mutex);
  *operation = static_cast<ncclRedOp_t>(made().next++);
  made().by_number[*operation] = std::move(own);
  return ncclSuccess;
}

ncclResult_t ncclRedOpDestroy(ncclRedOp_t operation, ncclComm_t comm) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  if (operation < ncclNumOps || !is_reduction(comm, operation)) {
    return nccl_failure(ncclInvalidArgument, "this reduction was not made for the communicator");
  }
  const std::lock_guard lock(made().mutex);
  made().by_number.erase(operation);
  return ncclSuccess;
}

}  // extern "C"
