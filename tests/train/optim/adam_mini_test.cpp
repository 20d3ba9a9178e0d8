#include "train/optim/adam_mini.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/optim/partition.h"

namespace headroom {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using torch::Tensor;

const AdamMiniOptions kAdamMini = {.learning_rate = 0.1, .weight_decay = 0, .head_dim = 2};

TEST(AdamMini, QueryAndKeyAreDividedByHeadsOtherMatricesByRowsAndVectorsNotAtAll) {
  EXPECT_EQ(rows_per_block("layers.3.attn.q_proj.weight", {768, 768}, 64), 64);
  EXPECT_EQ(rows_per_block("attn.k_proj", {192, 768}, 64), 64) << "grouped heads";
  for (const char* name :
       {"token_embeddings.weight", "layers.0.attn.v_proj.weight",
        "layers.0.attn.output_proj.weight", "layers.0.ffn.w2.weight", "lm_head.weight"}) {
    EXPECT_EQ(rows_per_block(name, {768, 3072}, 64), 1) << name;
  }
  EXPECT_EQ(rows_per_block("layers.0.ln1.weight", {768}, 64), 768);
}

// The first step: every element moves by the rate times its gradient over the root of its block's
// mean square.
TEST(AdamMini, ABlockSharesOneRate) {
  const Tensor g = torch::tensor({{3.0F, 0.0F}, {0.0F, 4.0F}, {1.0F, 1.0F}, {1.0F, -1.0F}});
  const auto moved = [&](const char* name) {
    Tensor p = torch::zeros({4, 2});
    p.mutable_grad() = g.clone();
    AdamMini optimizer({p}, {name}, kAdamMini);
    optimizer.step();
    EXPECT_THAT(optimizer.state()[1].sizes(), ElementsAre(name[0] == 'q' ? 2 : 4, 1));
    return p / -0.1;
  };
  const Tensor root_by_heads = torch::tensor({6.25F, 6.25F, 1.0F, 1.0F}).sqrt().view({4, 1});
  const Tensor root_by_rows = torch::tensor({4.5F, 8.0F, 1.0F, 1.0F}).sqrt().view({4, 1});
  EXPECT_TRUE(torch::allclose(moved("q_proj"), g / root_by_heads, 1e-4));
  EXPECT_TRUE(torch::allclose(moved("lm_head"), g / root_by_rows, 1e-4));
}

TEST(AdamMini, WithoutNamesOrWholeHeadsItRefuses) {
  const auto refusal = [](std::vector<std::string> names) {
    try {
      AdamMini({torch::zeros({3, 2})}, names, kAdamMini);
    } catch (const c10::Error& error) {
      return std::string(error.what_without_backtrace());
    }
    return std::string();
  };
  EXPECT_THAT(refusal({}), HasSubstr("adam-mini: 0 names for 1 parameters"));
  EXPECT_THAT(refusal({"k_proj"}),
              HasSubstr("k_proj of shape [3, 2] has no whole heads of 2 rows"));
  EXPECT_EQ(refusal({"v_proj"}), "");
}

}  // namespace
}  // namespace headroom
