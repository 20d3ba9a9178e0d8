// The host's update of one rank among several, with given data of the others.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "train/offload/states/memory_states.h"
#include "train/offload/states/offloaded_optimizer.h"
#include "train/update/loss_scaler.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr double kMaxNorm = 0.5;

NamedTensors two_parameters() {
  torch::manual_seed(3);
  NamedTensors all;
  all.insert("matrix", torch::randn({5, 7}));
  all.insert("norm", torch::randn({7}));
  return all;
}

std::vector<Tensor> gradients(double times = 1) {
  return {torch::arange(35.0).view({5, 7}) * times, torch::arange(7.0) * times};
}

// One update by these gradients, given one by one, and the resulting parameters.
struct OneUpdate {
  explicit OneUpdate(HostRanks ranks, double max_norm = 0)
      : optimizer(parameters, make_copy_queue(torch::kCPU), HostAdamwOptions{},
                  std::make_shared<MemoryStates>(parameters.values()),
                  /*offloaded_parameters=*/nullptr,
                  /*masters=*/NamedTensors(), /*host_limit_bytes=*/0, std::move(ranks)) {
    optimizer.clip_to(max_norm);
  }

  // True if there was an update.
  bool run(const std::vector<Tensor>& brought) {
    const int64_t skipped = optimizer.skipped_steps();
    optimizer.begin_step();
    for (size_t i = 0; i < brought.size(); ++i) {
      parameters[i].value().mutable_grad() = brought[i].clone();
      optimizer.give(i);
    }
    optimizer.end_backward(Task());
    StepHooks none;
    optimizer.finish(1, none);
    return optimizer.skipped_steps() == skipped;
  }

  NamedTensors parameters = two_parameters();
  OffloadedOptimizer optimizer;
};

HostRanks given(double share = 1) {
  return {.source = GradientSink::Source::kReplicas, .share = share};
}

void expect_equal(const NamedTensors& parameters, const NamedTensors& expected) {
  for (const auto& item : expected) {
    EXPECT_TRUE(parameters[item.key()].equal(item.value())) << item.key();
  }
}

TEST(HostRanks, TheUpdateIsByTheMeanOfTheReplicasSum) {
  OneUpdate of_mean(given());
  OneUpdate of_sum(given(0.25));
  EXPECT_TRUE(of_mean.run(gradients()));
  EXPECT_TRUE(of_sum.run(gradients(4)));
  expect_equal(of_sum.parameters, of_mean.parameters);
  EXPECT_FALSE(of_sum.parameters["norm"].equal(two_parameters()["norm"]));
}

TEST(HostRanks, GradientsOfOneParameterAddUp) {
  OneUpdate once(given());
  OneUpdate twice(given());
  once.run(gradients(2));
  std::vector<Tensor> brought = gradients();
  twice.optimizer.begin_step();
  for (int backward = 0; backward < 2; ++backward) {
    for (size_t i = 0; i < brought.size(); ++i) {
      twice.parameters[i].value().mutable_grad() = brought[i].clone();
      twice.optimizer.give(i);
    }
    twice.optimizer.end_backward(Task());
  }
  StepHooks none;
  twice.optimizer.finish(2, none);
  expect_equal(twice.parameters, once.parameters);
}

// Another rank's gradients act like one more parameter here; its own count excludes them.
TEST(HostRanks, TheNormIsThatOfAllRanks) {
  const Tensor elsewhere = torch::arange(20.0);
  const double norm = torch::cat({gradients()[0].flatten(), elsewhere}).norm().item<double>();
  HostRanks ranks = given();
  ranks.counted = {true, false};
  double here = 0;
  ranks.add_up = [&](double own) {
    here = own;
    return own + elsewhere.square().sum().item<double>();
  };
  OneUpdate clipped(std::move(ranks), kMaxNorm);
  clipped.run(gradients());
  EXPECT_DOUBLE_EQ(here, gradients()[0].square().sum().item<double>());
  // AdamW's first update is the same for gradients of every length; its first moment is not.
  const Tensor m = clipped.optimizer.state()[0].flatten();
  const Tensor expected = gradients()[0].flatten() * (0.1 * kMaxNorm / norm);
  EXPECT_TRUE(m.allclose(expected, /*rtol=*/1e-5, /*atol=*/0));
}

TEST(HostRanks, AllSkipAStepThatIsNotFiniteOnOne) {
  HostRanks ranks = given(0.5);
  double others = std::numeric_limits<double>::infinity();
  ranks.add_up = [&](double own) { return own + others; };
  OneUpdate update(std::move(ranks));
  update.optimizer.loss_scaler = std::make_unique<LossScaler>(torch::kCPU);
  const LossScaler& scaler = *update.optimizer.loss_scaler;
  const double scale = scaler.current_scale();
  EXPECT_FALSE(update.run(gradients(scale)));
  expect_equal(update.parameters, two_parameters());
  EXPECT_EQ(scaler.current_scale(), scale / 2);
  others = 1;
  EXPECT_TRUE(update.run(gradients(scale / 2)));
  OneUpdate usual(given(0.5));
  usual.run(gradients());
  expect_equal(update.parameters, usual.parameters);
}

}  // namespace
}  // namespace headroom
