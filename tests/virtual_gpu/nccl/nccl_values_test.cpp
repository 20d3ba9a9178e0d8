// Values that ranks know, through NCCL's collectives. main() is nccl_test.cpp's.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>
#include <nccl.h>

#include <cstdint>
#include <thread>
#include <vector>

namespace {

// Runs `body` for each rank in its own thread, on its own card.
template <typename Body>
void on_ranks(int size, Body body) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < size; ++rank) {
    ranks.emplace_back([&, rank] {
      cudaSetDevice(rank);
      ncclComm_t comm = nullptr;
      ASSERT_EQ(ncclCommInitRank(&comm, size, id, rank), ncclSuccess);
      body(comm, rank);
      EXPECT_EQ(ncclCommDestroy(comm), ncclSuccess);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

using Values = std::vector<int64_t>;

int64_t* on_card(const Values& values) {
  void* pointer = nullptr;
  EXPECT_EQ(cudaMalloc(&pointer, values.size() * 8), cudaSuccess);
  cudaMemcpy(pointer, values.data(), values.size() * 8, cudaMemcpyHostToDevice);
  return static_cast<int64_t*>(pointer);
}

Values on_host(const int64_t* pointer, size_t count) {
  Values values(count, -1);
  cudaMemcpy(values.data(), pointer, count * 8, cudaMemcpyDeviceToHost);
  return values;
}

TEST(NcclValues, WhatAllRanksKnowIsReducedAndGathered) {
  on_ranks(3, [](ncclComm_t comm, int rank) {
    const int64_t* mine = on_card({rank + 1, 10 * rank});
    int64_t* out = on_card(Values(6));
    ncclAllReduce(mine, out, 2, ncclInt64, ncclSum, comm, nullptr);
    EXPECT_EQ(on_host(out, 2), (Values{6, 30}));
    ncclAllReduce(mine, out, 2, ncclInt64, ncclMax, comm, nullptr);
    EXPECT_EQ(on_host(out, 2), (Values{3, 20}));
    ncclAllGather(mine, out, 2, ncclInt64, comm, nullptr);
    EXPECT_EQ(on_host(out, 6), (Values{1, 0, 2, 10, 3, 20}));
    const int64_t* parts = on_card({rank, 10 + rank, 20 + rank});
    ncclReduceScatter(parts, out, 1, ncclInt64, ncclSum, comm, nullptr);
    EXPECT_EQ(on_host(out, 1), (Values{30 * rank + 3}));
    ncclAlltoAll(parts, out, 1, ncclInt64, comm, nullptr);
    EXPECT_EQ(on_host(out, 3), (Values{10 * rank, 10 * rank + 1, 10 * rank + 2}));
  });
}

TEST(NcclValues, TheRootGathersAndScattersParts) {
  on_ranks(3, [](ncclComm_t comm, int rank) {
    int64_t* out = on_card({0, 0, 0});
    ncclGather(on_card({10 + rank}), out, 1, ncclInt64, 1, comm, nullptr);
    EXPECT_EQ(on_host(out, 3), rank == 1 ? (Values{10, 11, 12}) : (Values{0, 0, 0}));
    ncclScatter(on_card({20, 21, 22}), out, 1, ncclInt64, 1, comm, nullptr);
    EXPECT_EQ(on_host(out, 1), Values{20 + rank});
  });
}

TEST(NcclValues, SumsOfSixteenBitsAreRoundedAfterEachStepAndAMeanMultipliesFirst) {
  on_ranks(3, [](ncclComm_t comm, int rank) {
    // BF16 has 8 bits: 256 + 1 is 256 again. A third is 0x3eab, FP16's 0x3555.
    const int64_t bits = rank == 0 ? 0x4380 : 0x3f80;
    int64_t* out = on_card({bits});
    ncclAllReduce(out, out, 1, ncclBfloat16, ncclSum, comm, nullptr);
    EXPECT_EQ(on_host(out, 1), Values{0x4380});
    out = on_card({0x3f80});
    ncclAllReduce(out, out, 1, ncclBfloat16, ncclAvg, comm, nullptr);
    EXPECT_EQ(on_host(out, 1), Values{0x3f80});
    out = on_card({rank == 0 ? 0x3c00 : 0});
    ncclAllReduce(out, out, 1, ncclFloat16, ncclAvg, comm, nullptr);
    EXPECT_EQ(on_host(out, 1), Values{0x3555});
  });
}

TEST(NcclValues, AReductionOfOnesOwnMultipliesEachRanksPartByItsOwnScalar) {
  on_ranks(2, [](ncclComm_t comm, int rank) {
    for (const auto residence : {ncclScalarHostImmediate, ncclScalarDevice}) {
      int64_t scalar = rank == 0 ? 3 : 5;
      void* place = residence == ncclScalarDevice ? on_card({scalar}) : &scalar;
      ncclRedOp_t scaled;
      ncclRedOpCreatePreMulSum(&scaled, place, ncclInt64, residence, comm);
      int64_t* values = on_card({10});
      ncclAllReduce(values, values, 1, ncclInt64, scaled, comm, nullptr);
      ncclRedOpDestroy(scaled, comm);
      EXPECT_EQ(on_host(values, 1), Values{80});
    }
  });
}

TEST(NcclValues, ABroadcastAndASendBringWhatOneRankKnows) {
  on_ranks(2, [](ncclComm_t comm, int rank) {
    int64_t* values = on_card({rank == 1 ? 7 : 0, 8});
    ncclBroadcast(values, values, 2, ncclInt64, 1, comm, nullptr);
    EXPECT_EQ(on_host(values, 2), (Values{7, 8}));
    if (rank == 0) {
      ncclSend(on_card({4}), 1, ncclInt64, 1, comm, nullptr);
      ncclSend(on_card({5}), 1, ncclInt64, 1, comm, nullptr);
    } else {
      ncclRecv(values, 1, ncclInt64, 0, comm, nullptr);
      ncclRecv(values + 1, 1, ncclInt64, 0, comm, nullptr);
      EXPECT_EQ(on_host(values, 2), (Values{4, 5}));
    }
  });
}

TEST(NcclValues, OneRankThatDoesNotKnowMakesASumUnknown) {
  on_ranks(2, [](ncclComm_t comm, int rank) {
    int64_t* values = on_card({5});
    if (rank == 1) {
      void* arguments[] = {&values};
      cudaLaunchKernel(nullptr, dim3(1), dim3(1), arguments, 0, nullptr);
    }
    ncclAllReduce(values, values, 1, ncclInt64, ncclSum, comm, nullptr);
    EXPECT_EQ(on_host(values, 1), Values{0});
  });
}

TEST(NcclValues, AReceiveThatIsIssuedBeforeItsSendWaitsForNobody) {
  on_ranks(2, [](ncclComm_t comm, int rank) {
    int64_t* theirs = on_card({0});
    ncclRecv(theirs, 1, ncclInt64, 1 - rank, comm, nullptr);
    ncclSend(on_card({rank + 50}), 1, ncclInt64, 1 - rank, comm, nullptr);
    EXPECT_EQ(on_host(theirs, 1), Values{51 - rank});
  });
}

TEST(NcclValues, CountsThatDifferAreSaidAndTheResultIsUnknown) {
  testing::internal::CaptureStderr();
  on_ranks(2, [](ncclComm_t comm, int rank) {
    int64_t* values = on_card({1, 2});
    ncclAllReduce(values, values, rank == 0 ? 1 : 2, ncclInt64, ncclSum, comm, nullptr);
    EXPECT_EQ(on_host(values, 1), Values{0});
  });
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("all_reduce of 1 elements"), std::string::npos) << said;
  EXPECT_NE(said.find("all_reduce of 2 elements"), std::string::npos) << said;
}

TEST(NcclValues, TwoRanksOnOneCardAreAnInvalidUsage) {
  ncclUniqueId id;
  ncclGetUniqueId(&id);
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      cudaSetDevice(1);
      ncclComm_t comm = nullptr;
      EXPECT_EQ(ncclCommInitRank(&comm, 2, id, rank), ncclInvalidUsage);
      EXPECT_NE(std::string(ncclGetLastError(nullptr)).find("Duplicate GPU"), std::string::npos);
    });
  }
  for (std::thread& rank : ranks) rank.join();
}

TEST(NcclValues, ACommunicatorOfOneRankGivesBackWhatGoesIn) {
  on_ranks(1, [](ncclComm_t comm, int) {
    const int64_t* mine = on_card({3});
    int64_t* out = on_card({0});
    ncclAllReduce(mine, out, 1, ncclInt64, ncclSum, comm, nullptr);
    EXPECT_EQ(on_host(out, 1), Values{3});
  });
}

}  // namespace
