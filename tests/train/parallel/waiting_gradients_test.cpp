// Layers whose weights' gradients wait, held against the same layers in which nothing waits: the
// same numbers to the bit, later.
#include "train/parallel/waiting_gradients.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "model/loss.h"
#include "model/transformer.h"
#include "train/gradient_hooks.h"
#include "train/precision.h"
#include "train/techniques/checkpoint.h"
#include "train/techniques/saved_tensors.h"

namespace headroom {
namespace {

using testing::ElementsAre;

constexpr const char* kTable = "token_embeddings.weight";

struct Case {
  const char* name;
  Precision precision = Precision::kFp32;
  torch::Dtype weights = torch::kFloat32;
  bool checkpointed = false;
};
constexpr Case kCases[] = {
    {.name = "FP32"},
    {.name = "autocast", .precision = Precision::kBf16},
    {.name = "BF16 weights", .weights = torch::kBFloat16},
    {.name = "checkpointed", .checkpointed = true},
    {.name = "checkpointed under autocast", .precision = Precision::kBf16, .checkpointed = true}};

// Two micro-batches of random tokens through a small model.
struct SmallModel {
  SmallModel(const Case& one, const LayerFactory& layers) : one(one) {
    install_saved_tensor_hooks();
    const ModelConfig config = {.name = "small",
                                .d_model = 32,
                                .d_ff = 48,
                                .layers = 2,
                                .heads = 4,
                                .kv_heads = 2,
                                .vocab_size = 50};
    torch::manual_seed(1);
    model = Transformer(layers, config, kPositions, Attention::kEager, torch::kCPU, one.weights);
    tokens = torch::randint(0, config.vocab_size, {2, 2, kPositions + 1}, torch::kInt64);
  }

  void backward(int64_t micro_batch) {
    const Tensor own = tokens[micro_batch];
    Tensor loss;
    {
      const AutocastGuard autocast(one.precision, torch::kCPU, nullptr, model->parameters());
      const GroupRunner groups =
          one.checkpointed ? checkpointing_runner(parse_checkpoint("--checkpoint", "full"), nullptr)
                           : nullptr;
      const Tensor logits = model->forward(
          own.narrow(1, 0, kPositions),
          [](int64_t, TransformerBlock& block, const Tensor& x) { return block(x); }, groups);
      loss = cross_entropy(logits, own.narrow(1, 1, kPositions));
    }
    loss.backward();
  }

  static constexpr int64_t kPositions = 16;
  Case one;
  Transformer model = nullptr;
  Tensor tokens;
};

void expect_same_gradients(SmallModel& waiting, SmallModel& plain) {
  const auto expected = plain.model->named_parameters();
  for (const auto& item : waiting.model->named_parameters()) {
    const Tensor& gradient = expected[item.key()].grad();
    ASSERT_TRUE(item.value().grad().defined()) << item.key();
    EXPECT_GT(gradient.abs().max().item<double>(), 0) << item.key();
    EXPECT_TRUE(torch::equal(item.value().grad(), gradient)) << item.key();
    EXPECT_EQ(item.value().grad().strides(), gradient.strides()) << item.key();
  }
}

TEST(WaitingGradients, AreTheSameToTheBitWhenTheyAreMade) {
  for (const Case& one : kCases) {
    SCOPED_TRACE(one.name);
    const auto waiting = std::make_shared<WaitingGradients>();
    SmallModel later(one, waiting->layers(eager_layers()));
    SmallModel plain(one, eager_layers());
    for (int64_t i = 0; i < 2; ++i) {
      waiting->begin(i);
      later.backward(i);
      plain.backward(i);
      for (const auto& item : later.model->named_parameters()) {
        EXPECT_EQ(item.value().grad().defined(), item.key() == kTable) << item.key();
      }
    }
    waiting->make(0);
    waiting->make(1);
    expect_same_gradients(later, plain);
    waiting->make(1);  // there is nothing left
    expect_same_gradients(later, plain);
  }
}

TEST(WaitingGradients, AreOfTheMicroBatchThatIsMade) {
  const auto waiting = std::make_shared<WaitingGradients>();
  SmallModel later(kCases[0], waiting->layers(eager_layers()));
  SmallModel plain(kCases[0], eager_layers());
  for (int64_t i = 0; i < 2; ++i) {
    waiting->begin(i);
    later.backward(i);
  }
  plain.backward(1);
  waiting->make(1);
  const auto expected = plain.model->named_parameters();
  for (const auto& item : later.model->named_parameters()) {
    if (item.key() == kTable) continue;
    EXPECT_TRUE(torch::equal(item.value().grad(), expected[item.key()].grad())) << item.key();
  }
}

TEST(WaitingGradients, AreCompleteForWhoeverListensWhenTheyAreMade) {
  const auto waiting = std::make_shared<WaitingGradients>();
  SmallModel later(kCases[0], waiting->layers(eager_layers()));
  const auto parameters = later.model->named_parameters();
  std::vector<std::string> completed;
  const GradientHooks hooks(parameters.values(), [&](size_t index) {
    EXPECT_TRUE(parameters.values()[index].grad().defined());
    completed.push_back(parameters.keys()[index]);
  });
  later.backward(0);
  EXPECT_THAT(completed, ElementsAre(kTable));
  completed.clear();
  waiting->make(0);
  // In backward's order: the head, then the last block's, whose feed-forward is its end.
  ASSERT_EQ(completed.size(), parameters.size() - 1);
  EXPECT_EQ(completed[0], "lm_head.weight");
  EXPECT_EQ(completed[1], "ln_final.weight");
  EXPECT_EQ(completed[2], "layers.1.ffn.w2.weight");
  EXPECT_EQ(completed.back(), "layers.0.ln1.weight");
}

TEST(WaitingGradients, OfAStepThatFailedAreForgotten) {
  const auto waiting = std::make_shared<WaitingGradients>();
  SmallModel later(kCases[0], waiting->layers(eager_layers()));
  later.backward(0);
  waiting->clear();
  waiting->make(0);
  EXPECT_FALSE(later.model->named_parameters()["lm_head.weight"].grad().defined());
}

TEST(WaitingGradients, OfLayersWithoutAGraphAreNone) {
  const auto waiting = std::make_shared<WaitingGradients>();
  SmallModel later(kCases[0], waiting->layers(eager_layers()));
  SmallModel plain(kCases[0], eager_layers());
  const torch::NoGradGuard no_grad;
  const Tensor tokens = plain.tokens[0].narrow(1, 0, SmallModel::kPositions);
  EXPECT_TRUE(torch::equal(later.model->forward(tokens), plain.model->forward(tokens)));
}

}  // namespace
}  // namespace headroom
