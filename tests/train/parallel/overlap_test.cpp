// The overlap of collectives: where they begin and are waited for, among the blocks of a step. Two
// replicas, threads of this process, over Gloo; order and values, not speed.
#define USE_C10D_GLOO
#include <c10/cuda/CUDAStream.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <thread>
#include <torch/csrc/distributed/c10d/HashStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>

#include "tests/train/parallel/watched_group.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"
#include "train/data/data.h"
#include "train/hooks/listening.h"
#include "train/parallel/ranks/device_mesh.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr int kRanks = 2;
constexpr int64_t kLayers = 4;

// c10d has one flight recorder per process, which writes its map of groups without a lock
// (FlightRecorderDetail.hpp of PyTorch 2.11, all_pg_status_): two ranks as threads sometimes crash
// there. Turned off before the first group.
const bool kNoFlightRecorder = setenv("TORCH_FR_BUFFER_SIZE", "0", /*overwrite=*/1) == 0;

std::string block(const char* what, int64_t index) {
  return std::string(what) + " block " + std::to_string(index);
}

// Records phases and blocks of a step in a timeline. A block's backward begins when the gradient of
// its output exists, which is the end of the next block's backward.
class StepTimeline final : public ScopeListener {
 public:
  StepTimeline(Step& step, Timeline& timeline) : timeline_(timeline) {
    step.run_block = [this, inner = std::move(step.run_block)](int64_t index, TransformerBlock& own,
                                                               const Tensor& x_BSD) {
      Tensor y_BSD = inner(index, own, x_BSD);
      y_BSD.register_hook(
          [this, index](const Tensor&) { timeline_.add(block("begin backward of", index)); });
      return y_BSD;
    };
  }
  void on_scope(const Scope& scope, bool begins) override {
    timeline_.add((begins ? "begin " : "end ") + scope.text());
  }

 private:
  Timeline& timeline_;
};

Timeline timeline_of_rank(RunSpec spec, int rank, const c10::intrusive_ptr<c10d::Store>& store) {
  auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::seconds(30));
  options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
  Timeline timeline;
  const auto gloo =
      c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, kRanks, std::move(options));
  DeviceMesh::Groups groups;
  groups.at(static_cast<size_t>(MeshAxis::kData)) =
      std::make_shared<RankGroup>(c10::make_intrusive<WatchedGroup>(gloo, timeline));
  const DeviceMesh device_mesh(spec.mesh, rank, groups);
  std::vector<std::string> notes;
  const auto step = build_step(spec, torch::kCPU, &notes, &device_mesh);
  Data data(spec, spec.vocab_size, torch::kCPU, 2, rank);
  StepTimeline listener(*step, timeline);
  const Listening listening(*step, &listener);
  step->run(data.batch(0));
  timeline.clear();  // the next step is like all later ones
  step->run(data.batch(1));
  return timeline;
}

// Rank 0's second step.
Timeline timeline_of(const RunSpec& spec) {
  const auto store = c10::make_intrusive<c10d::HashStore>();
  Timeline first;
  std::thread other([&] { timeline_of_rank(spec, 1, store); });
  first = timeline_of_rank(spec, 0, store);
  other.join();
  return first;
}

RunSpec replicas(int64_t zero) {
  RunSpec spec = tiny_spec();
  spec.layers = kLayers;
  spec.mesh = parse_mesh("--mesh", "dp=2");
  spec.zero = zero;
  return spec;
}

void expect_order(const Timeline& timeline, const std::vector<std::string>& events) {
  for (size_t i = 0; i < events.size(); ++i) {
    EXPECT_TRUE(timeline.has(events[i])) << events[i] << "\nin\n" << timeline.text();
    if (i == 0) continue;
    EXPECT_LT(timeline.at(events[i - 1]), timeline.at(events[i]))
        << events[i - 1] << " is not before " << events[i] << "\nin\n"
        << timeline.text();
  }
}

TEST(Overlap, BucketsOfGradientsLeaveWhileBackwardGoesOn) {
  RunSpec spec = replicas(0);
  spec.bucket_bytes = 4 * (4 * 32 * 32 + 3 * 32 * 48);  // about a block
  const Timeline timeline = timeline_of(spec);
  // The head's and a part of the last block's, before that block's backward has ended.
  expect_order(timeline, {"begin backward", "begin all_reduce 0", "begin all_reduce 1",
                          block("begin backward of", 0), "end backward", "wait all_reduce 0",
                          "wait all_reduce 1", "begin optimizer"});
}

TEST(Overlap, GradientsOfABlockLeaveBesideTheBackwardOfTheBlockBefore) {
  for (const int64_t zero : {1, 2, 3}) {
    const Timeline timeline = timeline_of(replicas(zero));
    // The head's first, then from the last block on.
    for (int64_t index = kLayers - 1; index > 0; --index) {
      const std::string sum = "reduce_scatter " + std::to_string(kLayers - index);
      // Waited for when the next one is ready: a block's whole backward is in between.
      expect_order(timeline,
                   {"begin " + sum, block("begin backward of", index - 1), "wait " + sum});
      if (index == 1) continue;  // the first block's waits for the token table's
      const std::string next = "reduce_scatter " + std::to_string(kLayers - index + 1);
      expect_order(timeline, {"begin " + sum, "begin " + next, "wait " + sum});
    }
  }
}

TEST(Overlap, WeightsOfABlockComeBesideTheBlockBeforeIt) {
  const Timeline timeline = timeline_of(replicas(3));
  // all_gather 0 is the token table's, then follow the blocks', and at the last one the head's.
  for (int64_t index = 1; index < kLayers; ++index) {
    const std::string gather = "all_gather " + std::to_string(index + 1);
    expect_order(timeline, {"begin " + gather, block("end", index - 1), "wait " + gather});
  }
  const std::string head = "all_gather " + std::to_string(kLayers + 1);
  expect_order(timeline, {"begin " + head, block("end", kLayers - 1), "begin backward"});
  // In backward from the last block but one down; the last one's weights stay.
  for (int64_t index = kLayers - 2; index >= 0; --index) {
    const std::string gather = "all_gather " + std::to_string(2 * kLayers - index);
    const std::string sum = "reduce_scatter " + std::to_string(kLayers - index - 1);
    expect_order(timeline, {"begin " + gather, block("begin backward of", index + 1),
                            "begin " + sum, "wait " + gather});
  }
}

TEST(Overlap, NewWeightsAreGatheredTogetherAndNotOneAfterTheOther) {
  for (const int64_t zero : {1, 2}) {
    const Timeline timeline = timeline_of(replicas(zero));
    const std::string last = std::to_string(kLayers + 1);
    expect_order(timeline, {"begin optimizer", "begin all_gather 0", "begin all_gather " + last,
                            "wait all_gather 0", "end optimizer"});
  }
}

// With headroom dryrun --events late, where issued work is done when the host waits for it.
TEST(OnACard, ACollectiveRunsOnAStreamOfItsOwnAndItsWaitDoesNotStopTheHost) {
  if (!torch::cuda::is_available()) GTEST_SKIP() << "no card, not even a virtual one";
  const torch::Device card(torch::kCUDA, 0);
  const Launched alone = {
      .rank = 0, .ranks = kRanks, .address = "127.0.0.1", .port = 1, .alone = true};
  const DeviceMesh device_mesh(parse_mesh("--mesh", "dp=2"), alone, card, std::chrono::seconds(10),
                               {});
  const std::shared_ptr<RankGroup>& group = device_mesh.group(MeshAxis::kData);
  const Tensor part = torch::zeros({512}, card);
  const Tensor whole = torch::zeros({1024}, card);
  group->all_reduce({whole})->wait();  // makes the communicator
  const std::vector<std::function<RankGroup::Work()>> collectives = {
      [&] { return group->all_reduce({whole}); },
      [&] {
        return group->all_reduce({whole, part});
      },
      [&] { return group->reduce_scatter(part, whole); },
      [&] {
        return group->reduce_scatter(std::vector{part, part}, std::vector{whole, whole});
      },
      [&] { return group->all_gather(whole, part); }};
  for (size_t i = 0; i < collectives.size(); ++i) {
    torch::cuda::synchronize();
    const auto stream = c10::cuda::getCurrentCUDAStream();
    const RankGroup::Work work = collectives[i]();
    EXPECT_TRUE(stream.query()) << i << ": nothing of it is on the stream that computes";
    EXPECT_FALSE(work->isCompleted()) << i;
    work->wait();
    EXPECT_FALSE(work->isCompleted()) << i << ": the host did not wait";
    whole.add_(1);
    EXPECT_FALSE(stream.query()) << i;
    stream.synchronize();
    EXPECT_TRUE(work->isCompleted()) << i << ": what computes next comes after it";
  }
}

}  // namespace
}  // namespace headroom
