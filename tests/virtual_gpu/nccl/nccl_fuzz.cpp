// Random valid and invalid calls of NCCL's functions from several threads, compared with a simple
// model of their results. The same program runs under the thread sanitizer.
// usage: nccl_fuzz [SECONDS] [SEED]; prints the seed, exits 1 at the first difference.
#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdlib.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr int kThreads = 3;  // each on its own card
uint64_t seed = 0;

void expect(bool truth, const char* what) {
  if (truth) return;
  std::printf("seed %llu: %s\n", static_cast<unsigned long long>(seed), what);
  std::_Exit(1);
}

struct Communicator {
  ncclComm_t handle;
  int size;
  bool is_ended;
  bool is_finalized;
};

class Fuzz {
 public:
  explicit Fuzz(int card) : random_(seed * kThreads + static_cast<uint64_t>(card)) {
    cudaSetDevice(card);
    before_ = free_bytes();
  }

  void step() {
    switch (below(12)) {
      case 0:
        return make();
      case 1:
        return end();
      case 2:
        return finalize();
      case 3:
        return ask();
      case 4:
        return start_group();
      case 5:
        return end_group();
      case 6:
        return shrink();
      default:
        return exchange();
    }
  }

  // Checks that all of the card's memory is free again.
  void finish() {
    while (depth_ > 0) end_group();
    for (Communicator& comm : communicators_) {
      if (!comm.is_ended) expect(ncclCommDestroy(comm.handle) == ncclSuccess, "a destroy failed");
    }
    expect(free_bytes() == before_, "NCCL kept memory of the card");
  }

 private:
  static size_t free_bytes() {
    size_t free = 0;
    size_t total = 0;
    expect(cudaMemGetInfo(&free, &total) == cudaSuccess, "the card cannot be asked");
    return free;
  }

  int below(int limit) { return static_cast<int>(random_() % static_cast<uint64_t>(limit)); }
  bool sometimes() { return below(8) == 0; }

  Communicator* any() {
    if (communicators_.empty()) return nullptr;
    return &communicators_[static_cast<size_t>(below(static_cast<int>(communicators_.size())))];
  }

  void make() {
    if (communicators_.size() > 40) return;
    const int size = 1 + below(5);
    const int rank = sometimes() ? size + below(3) - 1 : below(size);
    ncclUniqueId id;
    ncclGetUniqueId(&id);
    ncclComm_t comm = nullptr;
    const ncclResult_t result = ncclCommInitRank(&comm, size, id, rank);
    const bool is_right = rank < size;
    expect(result == (is_right ? ncclSuccess : ncclInvalidArgument), "a wrong rank was taken");
    expect((comm != nullptr) == is_right, "a communicator of a rank that is none");
    if (is_right) communicators_.push_back({comm, size, false, false});
  }

  void end() {
    Communicator* comm = any();
    if (comm == nullptr || depth_ > 0) return;
    const ncclResult_t result =
        below(2) == 0 ? ncclCommDestroy(comm->handle) : ncclCommAbort(comm->handle);
    expect(result == (comm->is_ended ? ncclInvalidArgument : ncclSuccess), "an end");
    comm->is_ended = true;
  }

  void finalize() {
    Communicator* comm = any();
    if (comm == nullptr) return;
    const bool is_wrong = comm->is_ended || comm->is_finalized;
    expect((ncclCommFinalize(comm->handle) == ncclSuccess) == !is_wrong, "a finalize");
    comm->is_finalized = true;
  }

  void ask() {
    Communicator* comm = any();
    int count = -1;
    const ncclResult_t result = ncclCommCount(comm == nullptr ? nullptr : comm->handle, &count);
    const bool is_there = comm != nullptr && !comm->is_ended;
    expect((result == ncclSuccess) == is_there, "a count of what is no communicator");
    if (is_there) expect(count == comm->size, "a count");
  }

  void shrink() {
    Communicator* comm = any();
    if (comm == nullptr || comm->size < 2 || communicators_.size() > 40) return;
    int own = 0;
    if (ncclCommUserRank(comm->handle, &own) != ncclSuccess) return;
    int out = sometimes() ? own : (own + 1) % comm->size;
    ncclComm_t child = nullptr;
    const ncclResult_t result =
        ncclCommShrink(comm->handle, &out, 1, &child, nullptr, NCCL_SHRINK_DEFAULT);
    expect((result == ncclSuccess) == (out != own), "a shrink");
    if (child != nullptr) communicators_.push_back({child, comm->size - 1, false, false});
  }

  void start_group() {
    if (depth_ == 3) return;
    expect(ncclGroupStart() == ncclSuccess, "a group's start");
    ++depth_;
  }

  // A group's end returns its first error.
  void end_group() {
    const ncclResult_t result = ncclGroupEnd();
    if (depth_ == 0) return expect(result == ncclInvalidUsage, "the end of no group");
    --depth_;
    expect(result == (depth_ == 0 ? failed_ : ncclSuccess), "a group's end");
    if (depth_ == 0) failed_ = ncclSuccess;
  }

  void exchange() {
    Communicator* comm = any();
    if (comm == nullptr) return;
    const int other = sometimes() ? comm->size : below(comm->size);
    const auto type = static_cast<ncclDataType_t>(sometimes() ? 99 : below(ncclNumTypes));
    const auto sum = static_cast<ncclRedOp_t>(sometimes() ? 77 : below(ncclNumOps));
    const size_t count = static_cast<size_t>(below(1 << 22));
    bool is_right = !comm->is_ended && type < ncclNumTypes;
    ncclResult_t result = ncclSuccess;
    switch (below(5)) {
      case 0:
        result = ncclAllGather(nullptr, nullptr, count, type, comm->handle, nullptr);
        break;
      case 1:
        result = ncclAllReduce(nullptr, nullptr, count, type, sum, comm->handle, nullptr);
        is_right = is_right && sum < ncclNumOps;
        break;
      case 2:
        result = ncclBroadcast(nullptr, nullptr, count, type, other, comm->handle, nullptr);
        is_right = is_right && other < comm->size;
        break;
      case 3:
        result = ncclSend(nullptr, count, type, other, comm->handle, nullptr);
        is_right = is_right && other < comm->size;
        break;
      default:
        result = ncclRecv(nullptr, count, type, other, comm->handle, nullptr);
        is_right = is_right && other < comm->size;
    }
    expect((result == ncclSuccess) == is_right, "a collective's answer");
    if (depth_ > 0 && failed_ == ncclSuccess) failed_ = result;
  }

  std::mt19937_64 random_;
  std::vector<Communicator> communicators_;
  size_t before_ = 0;
  int depth_ = 0;
  ncclResult_t failed_ = ncclSuccess;
};

void run(int card, double seconds) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    Fuzz fuzz(card);
    for (int i = 0; i < 300; ++i) fuzz.step();
    fuzz.finish();
  }
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::stod(argv[1]) : 2;
  seed = argc > 2 ? std::stoull(argv[2]) : std::random_device()();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  setenv("HEADROOM_VIRTUAL_CARD",
         "name=Test Card;compute_capability=9.0;multiprocessors=132;total_bytes=85899345920;"
         "nvlink_channels=24",
         1);
  setenv("HEADROOM_VIRTUAL_COUNT", std::to_string(kThreads).c_str(), 1);
  unsetenv("HEADROOM_VIRTUAL_REPORT");
  std::vector<std::thread> threads;
  for (int card = 0; card < kThreads; ++card) threads.emplace_back(run, card, seconds);
  for (std::thread& thread : threads) thread.join();
}
