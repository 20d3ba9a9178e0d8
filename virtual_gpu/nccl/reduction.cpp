#include "virtual_gpu/nccl/reduction.h"

#include <map>
#include <mutex>

using namespace virtual_gpu;

namespace {

struct Made {
  std::mutex mutex;
  std::map<int, const ncclComm*> by_number;
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
  return found != made().by_number.end() && found->second == comm;
}

}  // namespace virtual_gpu

extern "C" {

ncclResult_t ncclRedOpCreatePreMulSum(ncclRedOp_t* operation, void* scalar, ncclDataType_t type,
                                      ncclScalarResidence_t, ncclComm_t comm) {
  if (const ncclResult_t error = check_communicator(comm)) return error;
  if (operation == nullptr || scalar == nullptr || type < 0 || type >= ncclNumTypes) {
    return nccl_failure(ncclInvalidArgument, "no place, scalar or type of the reduction");
  }
  const std::lock_guard lock(made().mutex);
  *operation = static_cast<ncclRedOp_t>(made().next++);
  made().by_number[*operation] = comm;
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
