#include "model/attention_kernel/forced_kernel.h"

#include <ATen/autocast_mode.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/attention.h"
#include "tests/files/scratch_directory.h"

namespace headroom {
namespace {

using testing::HasSubstr;
using testing::Not;

struct Heads {
  Tensor q_BHSK, k_BGTK, v_BGTK;
};

Heads heads(int64_t kv_heads) {
  torch::manual_seed(3);
  return {torch::randn({2, 4, 9, 8}), torch::randn({2, kv_heads, 9, 8}),
          torch::randn({2, kv_heads, 9, 8})};
}

Tensor by(Attention kind, const Heads& heads) {
  return fused_attention(kind, heads.q_BHSK, heads.k_BGTK, heads.v_BGTK);
}

std::string refusal(Attention kind) {
  return message_of<UnsupportedAttention>([&] { by(kind, heads(4)); });
}

struct Settings {
  bool math, flash, efficient, cudnn;
  bool operator==(const Settings&) const = default;
};

Settings settings() {
  const at::Context& context = at::globalContext();
  return {context.userEnabledMathSDP(), context.userEnabledFlashSDP(),
          context.userEnabledMemEfficientSDP(), context.userEnabledCuDNNSDP()};
}

TEST(ForcedKernel, ComputesWhatTheWrittenOutSoftmaxComputes) {
  for (const int64_t kv_heads : {4, 2, 1}) {
    const Heads inputs = heads(kv_heads);
    const auto repeated = [&](const Tensor& x) { return x.repeat_interleave(4 / kv_heads, 1); };
    const Tensor expected_BHSK =
        eager_attention(inputs.q_BHSK, repeated(inputs.k_BGTK), repeated(inputs.v_BGTK));
    for (const Attention kind : {Attention::kSdpa, Attention::kMath, Attention::kFlash}) {
      EXPECT_TRUE(torch::allclose(by(kind, inputs), expected_BHSK, 1e-5, 1e-5))
          << static_cast<int>(kind) << ", key heads " << kv_heads;
    }
  }
}

TEST(ForcedKernel, IsTheOneWhoseNodeAutogradRecords) {
  Heads inputs = heads(4);
  inputs.q_BHSK.requires_grad_();
  EXPECT_THAT(by(Attention::kFlash, inputs).grad_fn()->name(), HasSubstr("FlashAttention"));
  EXPECT_THAT(by(Attention::kMath, inputs).grad_fn()->name(), Not(HasSubstr("FlashAttention")));
}

TEST(ForcedKernel, OnTheCpuThereAreTwo) {
  EXPECT_THAT(
      refusal(Attention::kEfficient),
      HasSubstr("--attention efficient does not run here: libtorch has none for this device, "
                "type and shape"));
  EXPECT_THAT(refusal(Attention::kCudnn), HasSubstr("--attention cudnn does not run here"));
  EXPECT_THAT(refusal(Attention::kCudnn), Not(HasSubstr("\n")));
}

TEST(ForcedKernel, LeavesLibtorchsSettingsAsTheyWereAfterARefusalToo) {
  at::globalContext().setSDPUseMemEfficient(false);
  const Settings before = settings();
  by(Attention::kMath, heads(4));
  EXPECT_EQ(settings(), before);
  refusal(Attention::kCudnn);
  EXPECT_EQ(settings(), before);
  at::globalContext().setSDPUseMemEfficient(true);
}

TEST(ForcedKernel, AnotherKernelThanTheOneAskedForIsNoticed) {
  const Heads inputs = heads(4);
  const auto ran = [&](const std::function<Tensor()>& attend) {
    return message_of<UnsupportedAttention>([&] { with_kernel(Attention::kFlash, attend); });
  };
  EXPECT_EQ(ran([&] {
              return std::get<0>(at::_scaled_dot_product_attention_math(
                  inputs.q_BHSK, inputs.k_BGTK, inputs.v_BGTK));
            }),
            "--attention flash does not run here: libtorch ran "
            "aten::_scaled_dot_product_attention_math");
  EXPECT_THAT(ran([&] { return inputs.q_BHSK; }), HasSubstr("libtorch ran none of its kernels"));
}

TEST(ForcedKernel, OtherErrorsAndOtherWarningsPassThrough) {
  EXPECT_THROW(
      with_kernel(Attention::kMath, []() -> Tensor { TORCH_CHECK(false, "out of memory, say"); }),
      c10::Error);
  struct Heard : c10::WarningHandler {
    void process(const c10::Warning& warning) override { text += warning.msg(); }
    std::string text;
  } heard;
  const c10::WarningUtils::WarningHandlerGuard listening(&heard);
  const Heads inputs = heads(4);
  with_kernel(Attention::kMath, [&] {
    TORCH_WARN("of something else");
    return sdpa_attention(inputs.q_BHSK, inputs.k_BGTK, inputs.v_BGTK);
  });
  EXPECT_EQ(heard.text, "of something else");
}

}  // namespace
}  // namespace headroom
