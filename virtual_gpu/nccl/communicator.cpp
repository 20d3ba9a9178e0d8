#include "virtual_gpu/nccl/communicator.h"

#include <algorithm>
#include <climits>
#include <memory>
#include <mutex>
#include <utility>

#include "virtual_gpu/cudart/error.h"
#include "virtual_gpu/nccl/memory/own_memory.h"
#include "virtual_gpu/nccl/values/carried.h"
#include "virtual_gpu/report/ending_signal.h"

namespace virtual_gpu {
namespace {

constexpr unsigned kConfigMagic = 0xcafebeef;

struct Known {
  std::mutex mutex;
  std::vector<std::unique_ptr<ncclComm>> all;
};

// Never destroyed: libraries call us in their exit handlers.
Known& known() {
  static auto* all = new Known();
  return *all;
}

thread_local std::string last_error;

}  // namespace

const char* name_of(Traffic kind) {
  constexpr std::array<const char*, kTrafficKinds> kNames = {
      "all_gather", "all_reduce",     "all_to_all", "broadcast",
      "reduce",     "reduce_scatter", "send",       "recv"};
  return kNames[static_cast<size_t>(kind)];
}

ncclComm* add_communicator(std::string identity, int size, int rank, const ncclConfig_t* config) {
  auto comm = std::make_unique<ncclComm>();
  comm->identity = std::move(identity);
  comm->size = size;
  comm->rank = rank;
  comm->device = Machine::current();
  // A program built with an older NCCL has a shorter configuration.
  if (config != nullptr && config->size >= sizeof(ncclConfig_t) && config->commName != nullptr) {
    comm->name = config->commName;
  }
  Machine::get().here().make_context();
  find_peers(comm.get());
  comm->own = std::make_shared<NcclOwnMemory>(*comm);
  const std::lock_guard lock(known().mutex);
  known().all.push_back(std::move(comm));
  return known().all.back().get();
}

std::vector<const ncclComm*> communicators() {
  const std::lock_guard lock(known().mutex);
  std::vector<const ncclComm*> all;
  all.reserve(known().all.size());
  for (const auto& comm : known().all) all.push_back(comm.get());
  return all;
}

ncclResult_t nccl_failure(ncclResult_t result, std::string why) {
  last_error = std::move(why);
  return result;
}

const char* nccl_last_error() { return last_error.c_str(); }

std::function<bool()> until_end_of(const ncclComm* comm) {
  return [comm] { return comm->is_destroyed.load() || ending_signal() != 0; };
}

ncclResult_t check_communicator(const ncclComm* comm) {
  if (comm == nullptr) return nccl_failure(ncclInvalidArgument, "the communicator is NULL");
  const std::lock_guard lock(known().mutex);
  const auto& all = known().all;
  const bool is_known =
      std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.get() == comm; });
  if (!is_known) return nccl_failure(ncclInvalidArgument, "this is not a communicator");
  if (comm->is_destroyed) {
    return nccl_failure(ncclInvalidArgument, "the communicator was destroyed");
  }
  return ncclSuccess;
}

ncclResult_t check_config(const ncclConfig_t* config) {
  if (config == nullptr) return ncclSuccess;
  if (config->magic != kConfigMagic) {
    return nccl_failure(ncclInvalidArgument,
                        "the configuration was not begun with NCCL_CONFIG_INITIALIZER");
  }
  const int blocking = config->blocking;
  if (blocking != NCCL_CONFIG_UNDEF_INT && blocking != 0 && blocking != 1) {
    return nccl_failure(ncclInvalidArgument,
                        "blocking is " + std::to_string(blocking) + ", not 0 or 1");
  }
  const int least = config->minCTAs;
  const int most = config->maxCTAs;
  const auto is_wrong = [](int ctas) { return ctas != NCCL_CONFIG_UNDEF_INT && ctas <= 0; };
  const bool are_both = least != NCCL_CONFIG_UNDEF_INT && most != NCCL_CONFIG_UNDEF_INT;
  if (is_wrong(least) || is_wrong(most) || (are_both && least > most)) {
    return nccl_failure(ncclInvalidArgument, "minCTAs " + std::to_string(least) + " and maxCTAs " +
                                                 std::to_string(most) + " are no range");
  }
  return ncclSuccess;
}

ncclResult_t check_cards() {
  if (usable() == cudaSuccess) return ncclSuccess;
  return nccl_failure(ncclUnhandledCudaError, "no virtual card can be used in this process");
}

}  // namespace virtual_gpu
