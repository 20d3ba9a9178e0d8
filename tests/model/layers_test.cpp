// Extension points of the model: positions that do not begin at 0, and layers of other kernels.
#include <gtest/gtest.h>

#include "model/attention.h"
#include "model/torch.h"
#include "model/transformer.h"

namespace headroom {
namespace {

constexpr int64_t kTokens = 7;
constexpr double kTolerance = 1e-6;

struct Projections {
  Tensor q_BHSK, k_BGTK, v_BGTK;
};

Projections projections(int64_t kv_heads) {
  torch::manual_seed(3);
  return {torch::randn({2, 4, kTokens, 8}), torch::randn({2, kv_heads, kTokens, 8}),
          torch::randn({2, kv_heads, kTokens, 8})};
}

// Attention of `count` queries from position `first` on, with every key up to the last of them.
Tensor decode(const Projections& all, int64_t first, int64_t count,
              Tensor (*attention)(const Tensor&, const Tensor&, const Tensor&, int64_t)) {
  const int64_t keys = first + count;
  return attention(all.q_BHSK.narrow(2, first, count), all.k_BGTK.narrow(2, 0, keys),
                   all.v_BGTK.narrow(2, 0, keys), first);
}

TEST(Positions, RotatingATokenAtItsPositionIsThatRowOfRotatingAll) {
  const RotaryTable rotary(kTokens, 8, 10000, torch::kCPU);
  const Tensor q_BHSK = projections(4).q_BHSK;
  const Tensor all_BHSK = rotary.rotate(q_BHSK);
  for (int64_t p = 0; p < kTokens; ++p) {
    EXPECT_TRUE(torch::equal(rotary.rotate(q_BHSK.narrow(2, p, 1), p), all_BHSK.narrow(2, p, 1)))
        << p;
  }
  EXPECT_TRUE(torch::equal(rotary.rotate(q_BHSK.narrow(2, 2, 3), 2), all_BHSK.narrow(2, 2, 3)));
  EXPECT_FALSE(torch::equal(rotary.rotate(q_BHSK.narrow(2, 2, 3)), all_BHSK.narrow(2, 2, 3)));
}

TEST(Positions, TheMaskOfLaterQueriesIsThoseRowsOfTheWholeMask) {
  const Tensor positions_T = torch::arange(kTokens, torch::kInt64);
  const Tensor whole = causal_mask(positions_T, kTokens);
  EXPECT_TRUE(torch::equal(whole[0][0], torch::ones({kTokens, kTokens}, torch::kBool).tril()));
  EXPECT_TRUE(torch::equal(causal_mask(positions_T, 2, 3), whole.narrow(2, 3, 2)));
}

TEST(Positions, DecodingAtAPositionIsThatRowOfTheFullForward) {
  for (const auto attention : {eager_attention, sdpa_attention}) {
    const Projections all = projections(4);
    const Tensor full_BHSK = attention(all.q_BHSK, all.k_BGTK, all.v_BGTK, 0);
    for (const int64_t count : {1, 2}) {
      for (int64_t first = 0; first + count <= kTokens; ++first) {
        EXPECT_TRUE(torch::allclose(decode(all, first, count, attention),
                                    full_BHSK.narrow(2, first, count), kTolerance, kTolerance))
            << first << " " << count;
      }
    }
  }
}

TEST(Positions, FusedAttentionDecodesGroupedHeadsToo) {
  const Projections all = projections(2);
  const Tensor full_BHSK = sdpa_attention(all.q_BHSK, all.k_BGTK, all.v_BGTK);
  EXPECT_TRUE(torch::allclose(decode(all, 4, 2, sdpa_attention), full_BHSK.narrow(2, 4, 2),
                              kTolerance, kTolerance));
}

// A set of layers as for a second --kernels: the eager ones, except one of its own.
class OtherLinear : public Linear {
 public:
  using Linear::Linear;
  Tensor forward(const Tensor& x) override { return torch::linear(x, weight); }
};

const LayerFactory& other_layers() {
  static const LayerFactory kOther = [] {
    LayerFactory layers = eager_layers();
    layers.linear = [](int64_t in, int64_t out, bool has_bias,
                       const LayerFactory::Options& options) -> Layer {
      return std::make_shared<OtherLinear>(in, out, has_bias, options);
    };
    return layers;
  }();
  return kOther;
}

Transformer model_of(const LayerFactory& layers) {
  torch::manual_seed(5);
  const ModelConfig config{
      .d_model = 16, .d_ff = 24, .layers = 2, .heads = 4, .kv_heads = 2, .vocab_size = 11};
  return Transformer(layers, config, kTokens, Attention::kEager, torch::kCPU);
}

TEST(LayerFactory, AnotherSetHasTheSameParametersAndComputesTheSame) {
  Transformer eager = model_of(eager_layers());
  Transformer other = model_of(other_layers());
  const auto expected = eager->named_parameters();
  const auto found = other->named_parameters();
  ASSERT_EQ(found.keys(), expected.keys());
  for (const auto& item : expected) EXPECT_TRUE(torch::equal(found[item.key()], item.value()));
  const Tensor tokens_BS = torch::arange(2 * kTokens, torch::kInt64).view({2, kTokens}) % 11;
  EXPECT_TRUE(torch::allclose(other->forward(tokens_BS), eager->forward(tokens_BS), 1e-5, 1e-5));
}

TEST(LayerFactory, EveryLinearLayerOfAModelComesFromTheFactory) {
  int64_t others = 0;
  for (const auto& module : model_of(other_layers())->modules()) {
    if (dynamic_cast<OtherLinear*>(module.get()) != nullptr) ++others;
    EXPECT_FALSE(typeid(*module) == typeid(Linear));
  }
  EXPECT_EQ(others, 2 * 7 + 1) << "seven in each block, and the output head";
}

}  // namespace
}  // namespace headroom
