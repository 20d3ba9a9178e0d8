// The stand-in's NCCL functions, called as by libtorch. Three virtual cards, one process.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>
#include <stdlib.h>

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

// One rank alone: without a folder it cannot meet the others, and does not wait.
ncclComm_t communicator(int size, int rank) {
  ncclUniqueId id;
  EXPECT_EQ(ncclGetUniqueId(&id), ncclSuccess);
  const std::string before = std::getenv("HEADROOM_VIRTUAL_REPORT");
  setenv("HEADROOM_VIRTUAL_REPORT", "", 1);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, size, id, rank), ncclSuccess);
  setenv("HEADROOM_VIRTUAL_REPORT", before.c_str(), 1);
  return comm;
}

int count_of(ncclComm_t comm) {
  int count = 0;
  EXPECT_EQ(ncclCommCount(comm, &count), ncclSuccess);
  return count;
}

int rank_of(ncclComm_t comm) {
  int rank = -1;
  EXPECT_EQ(ncclCommUserRank(comm, &rank), ncclSuccess);
  return rank;
}

TEST(Nccl, ACommunicatorKnowsItsSizeAndRank) {
  ncclComm_t comm = communicator(4, 3);
  EXPECT_EQ(count_of(comm), 4);
  EXPECT_EQ(rank_of(comm), 3);
  ncclResult_t error = ncclInternalError;
  EXPECT_EQ(ncclCommGetAsyncError(comm, &error), ncclSuccess);
  EXPECT_EQ(error, ncclSuccess);
}

TEST(Nccl, ARankOutsideOfTheWorldIsAnInvalidArgument) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(comm, nullptr);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("0 ranks"), std::string::npos);
}

TEST(Nccl, AConfigurationWithoutItsInitializerIsAnInvalidArgument) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  ncclComm_t comm = nullptr;
  ncclConfig_t config{};
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 2;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  config.blocking = 1;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclSuccess);
}

TEST(Nccl, ADestroyedCommunicatorIsAnInvalidArgument) {
  ncclComm_t comm = communicator(1, 0);
  EXPECT_EQ(ncclCommFinalize(comm), ncclSuccess);
  EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 1, ncclFloat, ncclSum, comm, nullptr),
            ncclInvalidArgument);
  EXPECT_EQ(ncclCommDestroy(nullptr), ncclSuccess);
}

TEST(Nccl, CollectivesRefuseWrongRanksTypesAndReductions) {
  ncclComm_t comm = communicator(2, 0);
  const auto wrong_type = static_cast<ncclDataType_t>(ncclNumTypes);
  const auto wrong_operation = static_cast<ncclRedOp_t>(ncclNumOps);
  EXPECT_EQ(ncclBroadcast(nullptr, nullptr, 1, ncclFloat, 2, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclSend(nullptr, 1, ncclFloat, -1, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclAllGather(nullptr, nullptr, 1, wrong_type, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(nullptr, nullptr, 1, ncclFloat, wrong_operation, comm, nullptr),
            ncclInvalidArgument);
}

TEST(Nccl, AReductionOfOnesOwnIsThatCommunicatorsUntilItIsDestroyed) {
  ncclComm_t comm = communicator(2, 0);
  ncclComm_t other = communicator(2, 0);
  float scalar = 0.5F;
  ncclRedOp_t half{};
  ASSERT_EQ(ncclRedOpCreatePreMulSum(&half, &scalar, ncclFloat, ncclScalarHostImmediate, comm),
            ncclSuccess);
  const auto reduce = [&](ncclComm_t with) {
    return ncclAllReduce(nullptr, nullptr, 1, ncclFloat, half, with, nullptr);
  };
  EXPECT_EQ(reduce(comm), ncclSuccess);
  EXPECT_EQ(reduce(other), ncclInvalidArgument);
  EXPECT_EQ(ncclRedOpDestroy(half, comm), ncclSuccess);
  EXPECT_EQ(reduce(comm), ncclInvalidArgument);
}

TEST(Nccl, AnErrorInAGroupIsAlsoThatOfItsEnd) {
  ncclComm_t comm = communicator(2, 0);
  ASSERT_EQ(ncclGroupStart(), ncclSuccess);
  EXPECT_EQ(ncclRecv(nullptr, 1, ncclFloat, 7, comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

TEST(Nccl, ACollectiveIsCapturedIntoAGraph) {
  ncclComm_t comm = communicator(2, 1);
  cudaStream_t stream = nullptr;
  ASSERT_EQ(cudaStreamCreate(&stream), cudaSuccess);
  ASSERT_EQ(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal), cudaSuccess);
  ncclGroupStart();
  EXPECT_EQ(ncclSend(nullptr, 1, ncclFloat, 0, comm, stream), ncclSuccess);
  EXPECT_EQ(ncclRecv(nullptr, 1, ncclFloat, 0, comm, stream), ncclSuccess);
  EXPECT_EQ(ncclGroupEnd(), ncclSuccess);
  cudaGraph_t graph = nullptr;
  ASSERT_EQ(cudaStreamEndCapture(stream, &graph), cudaSuccess);
  size_t nodes = 0;
  ASSERT_EQ(cudaGraphGetNodes(graph, nullptr, &nodes), cudaSuccess);
  EXPECT_EQ(nodes, 1U);  // for the whole group
}

TEST(Nccl, AllDevicesOfAProcessEachOnce) {
  std::array<ncclComm_t, 2> comms{};
  ASSERT_EQ(ncclCommInitAll(comms.data(), 2, nullptr), ncclSuccess);
  EXPECT_EQ(rank_of(comms[1]), 1);
  const std::array<int, 2> twice = {0, 0};
  EXPECT_EQ(ncclCommInitAll(comms.data(), 2, twice.data()), ncclInvalidUsage);
  const std::array<int, 2> beyond = {0, 9};
  EXPECT_EQ(ncclCommInitAll(comms.data(), 2, beyond.data()), ncclUnhandledCudaError);
}

TEST(Nccl, MemoryOfNcclIsTheCards) {
  size_t before = 0;
  size_t total = 0;
  cudaMemGetInfo(&before, &total);
  void* pointer = nullptr;
  ASSERT_EQ(ncclMemAlloc(&pointer, 3), ncclSuccess);
  size_t free = 0;
  cudaMemGetInfo(&free, &total);
  EXPECT_EQ(before - free, size_t{2} << 20);
  ncclComm_t comm = communicator(1, 0);
  void* handle = nullptr;
  EXPECT_EQ(ncclCommRegister(comm, pointer, 3, &handle), ncclSuccess);
  EXPECT_EQ(ncclCommDeregister(comm, handle), ncclSuccess);
  EXPECT_EQ(ncclMemFree(pointer), ncclSuccess);
  EXPECT_EQ(ncclMemAlloc(&pointer, total * 2), ncclUnhandledCudaError);
}

uint64_t free_bytes() {
  size_t free = 0;
  size_t total = 0;
  EXPECT_EQ(cudaMemGetInfo(&free, &total), cudaSuccess);
  return free;
}

TEST(Nccl, ACommunicatorTakesMoreOfItsCardAsItIsUsedAndGivesAllBackAtItsEnd) {
  const uint64_t before = free_bytes();
  ncclComm_t comm = communicator(3, 1);
  const uint64_t made = free_bytes();
  EXPECT_LT(made, before);
  EXPECT_EQ(ncclAllGather(nullptr, nullptr, 4, ncclInt8, comm, nullptr), ncclSuccess);
  const uint64_t connected = free_bytes();
  EXPECT_EQ(made - connected, 24ULL * (12 << 20));
  EXPECT_EQ(ncclReduceScatter(nullptr, nullptr, 4, ncclInt8, ncclSum, comm, nullptr), ncclSuccess);
  EXPECT_EQ(free_bytes(), connected);
  EXPECT_EQ(ncclSend(nullptr, 1, ncclInt8, 2, comm, nullptr), ncclSuccess);
  EXPECT_EQ(connected - free_bytes(), 32ULL * (2 << 20));
  EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
  EXPECT_EQ(free_bytes(), before);
}

TEST(Nccl, ACardWithoutRoomForItsBuffersIsACudaErrorThatSaysHowMuchWasWanted) {
  ncclComm_t comm = communicator(3, 1);
  void* rest = nullptr;
  ASSERT_EQ(cudaMalloc(&rest, free_bytes() - (8 << 20)), cudaSuccess);
  EXPECT_EQ(ncclAllGather(nullptr, nullptr, 4, ncclInt8, comm, nullptr), ncclUnhandledCudaError);
  EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("calloc 301989888 bytes"),
            std::string::npos);
  EXPECT_EQ(ncclAllGather(nullptr, nullptr, 4, ncclInt8, comm, nullptr), ncclUnhandledCudaError);
  cudaFree(rest);
  EXPECT_EQ(ncclAllGather(nullptr, nullptr, 4, ncclInt8, comm, nullptr), ncclSuccess);
  ncclCommDestroy(comm);
}

TEST(Nccl, AShrinkRenumbersWhoIsLeft) {
  ncclComm_t comm = communicator(4, 3);
  std::array<int, 2> out = {2, 0};
  ncclComm_t child = nullptr;
  ASSERT_EQ(ncclCommShrink(comm, out.data(), 2, &child, nullptr, NCCL_SHRINK_DEFAULT), ncclSuccess);
  EXPECT_EQ(count_of(child), 2);
  EXPECT_EQ(rank_of(child), 1);
  out = {3, 0};
  EXPECT_EQ(ncclCommShrink(comm, out.data(), 2, &child, nullptr, NCCL_SHRINK_DEFAULT),
            ncclInvalidArgument);
}

TEST(Nccl, ASplitIsByColorAndOrderedByKey) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::array<ncclComm_t, 3> children{};
  std::array<std::thread, 3> ranks;
  for (int rank = 0; rank < 3; ++rank) {
    ranks[static_cast<size_t>(rank)] = std::thread([&, rank] {
      cudaSetDevice(rank);
      ncclComm_t comm = nullptr;
      EXPECT_EQ(ncclCommInitRank(&comm, 3, id, rank), ncclSuccess);
      const int color = rank == 1 ? NCCL_SPLIT_NOCOLOR : 5;
      EXPECT_EQ(ncclCommSplit(comm, color, -rank, &children[static_cast<size_t>(rank)], nullptr),
                ncclSuccess);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_EQ(children[1], nullptr);
  EXPECT_EQ(count_of(children[0]), 2);
  EXPECT_EQ(rank_of(children[0]), 1);
  EXPECT_EQ(rank_of(children[2]), 0);
}

}  // namespace

int main(int argc, char** argv) {
  setenv("HEADROOM_VIRTUAL_CARD",
         "name=Test Card;compute_capability=9.0;multiprocessors=132;total_bytes="
         "17179869184;nvlink_channels=24",
         1);
  setenv("HEADROOM_VIRTUAL_COUNT", "3", 1);
  std::string folder = "/tmp/headroom-nccl-test.XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return 1;
  setenv("HEADROOM_VIRTUAL_REPORT", (folder + "/report").c_str(), 1);
  testing::InitGoogleTest(&argc, argv);
  const int failed = RUN_ALL_TESTS();
  unsetenv("HEADROOM_VIRTUAL_REPORT");
  return std::system(("rm -r " + folder).c_str()) == 0 ? failed : 1;
}
