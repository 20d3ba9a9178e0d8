#include "profiling/theory/activations/layers/attention_kernel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "profiling/theory/rows.h"
#include "tests/train/support/tiny_spec.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using testing::HasSubstr;

// 4 heads of 64 elements, 128 tokens.
AttentionCall call(double capability, DType dtype) {
  return {.capability = capability,
          .dtype = dtype,
          .context = 128,
          .heads = 4,
          .kv_heads = 4,
          .head_dim = 64,
          .backward = true};
}

AttentionCall changed(AttentionCall call, const std::function<void(AttentionCall&)>& change) {
  change(call);
  return call;
}

TEST(AttentionKernel, IsChosenInLibtorchsOrder) {
  using enum AttentionKernel;
  EXPECT_EQ(chosen_kernel(call(9.0, DType::kBf16)), kCudnn);
  EXPECT_EQ(chosen_kernel(call(10.0, DType::kFp16)), kCudnn);
  EXPECT_EQ(chosen_kernel(call(8.0, DType::kBf16)), kFlash);
  EXPECT_EQ(chosen_kernel(call(12.0, DType::kBf16)), kFlash);
  EXPECT_EQ(chosen_kernel(call(7.5, DType::kFp16)), kMemoryEfficient);
  EXPECT_EQ(chosen_kernel(call(7.5, DType::kBf16)), kMath);
  EXPECT_EQ(chosen_kernel(call(9.0, DType::kFp32)), kMemoryEfficient);
  EXPECT_EQ(chosen_kernel({.cpu = true}), kCpuFlash);
  const AttentionCall one_token =
      changed(call(9.0, DType::kBf16), [](AttentionCall& made) { made.context = 1; });
  EXPECT_EQ(chosen_kernel(one_token), kFlash) << "cuDNN takes no single query";
  const AttentionCall grouped =
      changed(call(9.0, DType::kFp32), [](AttentionCall& made) { made.kv_heads = 2; });
  EXPECT_EQ(chosen_kernel(grouped), kMath);
  const AttentionCall odd =
      changed(call(9.0, DType::kFp32), [](AttentionCall& made) { made.head_dim = 6; });
  EXPECT_EQ(chosen_kernel(odd), kMath) << "6 is no multiple of 4";
}

TEST(AttentionKernel, SaysWhyItDoesNotRun) {
  using enum AttentionKernel;
  const AttentionCall bf16 = call(9.0, DType::kBf16);
  for (const AttentionKernel kernel : {kMath, kFlash, kMemoryEfficient, kCudnn}) {
    EXPECT_EQ(refusal(kernel, bf16), "");
  }
  EXPECT_THAT(refusal(kFlash, call(9.0, DType::kFp32)), HasSubstr("FP16 and BF16 only"));
  EXPECT_THAT(refusal(kCudnn, call(9.0, DType::kFp32)), HasSubstr("FP16 and BF16 only"));
  EXPECT_THAT(refusal(kFlash, call(7.5, DType::kFp16)),
              HasSubstr("needs compute capability 8.0; the card's is 7.5"));
  const auto wide = [](AttentionCall& made) { made.head_dim = 200; };
  EXPECT_EQ(refusal(kFlash, changed(bf16, wide)), "");
  EXPECT_THAT(refusal(kFlash, changed(call(8.9, DType::kBf16), wide)), HasSubstr("no backward"));
  EXPECT_EQ(refusal(kCudnn, changed(bf16, wide)), "");
  EXPECT_THAT(refusal(kCudnn, changed(call(10.0, DType::kBf16), wide)), HasSubstr("at most 128"));
  EXPECT_THAT(refusal(kFlash, {.cpu = true}), HasSubstr("on cards only"));
}

TEST(AttentionKernel, TheoryRefusesWhatDoesNotRun) {
  RunSpec spec = tiny_spec();
  spec.device = parse_device("virtual:h200");
  spec.attention = Attention::kFlash;
  EXPECT_THAT(attention_refusal(spec), HasSubstr("the heads are FP32"));
  EXPECT_THROW(theory_rows(spec), UsageError);
  spec.precision = Precision::kBf16;
  EXPECT_EQ(attention_refusal(spec), "");
  EXPECT_NO_THROW(theory_rows(spec));
  spec.device = parse_device("cpu");
  EXPECT_NO_THROW(theory_rows(spec)) << "the CPU has a flash kernel of its own";
  spec.attention = Attention::kCudnn;
  EXPECT_THROW(theory_rows(spec), UsageError);
}

TEST(AttentionKernel, AutocastsBf16IsFp16BeforeCapability8) {
  RunSpec spec = tiny_spec();
  spec.precision = Precision::kBf16;
  spec.device = parse_device("virtual:t4");
  spec.attention = Attention::kEfficient;
  EXPECT_EQ(attention_refusal(spec), "");
  const int64_t efficient = residual_bytes_per_block(spec);
  spec.attention = Attention::kSdpa;
  EXPECT_EQ(residual_bytes_per_block(spec), efficient);
  spec.attention = Attention::kFlash;
  EXPECT_THAT(attention_refusal(spec), HasSubstr("compute capability 8.0"));
}

TEST(AttentionKernel, AForcedKernelKeepsWhatItWouldAsLibtorchsChoice) {
  RunSpec spec = tiny_spec();
  spec.precision = Precision::kBf16;
  const auto kept = [&](const char* card, Attention attention) {
    spec.device = parse_device(card);
    spec.attention = attention;
    return residual_bytes_per_block(spec);
  };
  EXPECT_EQ(kept("virtual:h200", Attention::kCudnn), kept("virtual:h200", Attention::kSdpa));
  EXPECT_EQ(kept("virtual:h200", Attention::kFlash), kept("virtual:a100-80gb", Attention::kSdpa));
  EXPECT_EQ(kept("cpu", Attention::kFlash), kept("cpu", Attention::kSdpa));
  EXPECT_GT(kept("cpu", Attention::kMath), kept("cpu", Attention::kSdpa));
}

}  // namespace
}  // namespace headroom
