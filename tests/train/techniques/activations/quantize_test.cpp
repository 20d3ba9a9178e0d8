#include "train/techniques/activations/quantize.h"

#include <gtest/gtest.h>

#include <limits>

#include "train/techniques/activations/host_codes.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kSmallest = std::numeric_limits<float>::min();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

Tensor round_trip(const Tensor& numbers, ActivationForm form, int64_t block) {
  const Quantized quantized = quantize(numbers, {.form = form, .block = block});
  Tensor back = torch::full_like(numbers, kNan);
  dequantize(quantized, back);
  return back;
}

// Each number's error bound as in the header.
Tensor bound_of(const Tensor& numbers, ActivationForm form, int64_t block) {
  const Tensor x = numbers.to(torch::kFloat64).abs();
  Tensor largest = torch::empty_like(x);
  for (int64_t i = 0; i < x.numel(); i += block) {
    const int64_t count = std::min(block, x.numel() - i);
    largest.narrow(0, i, count).fill_(x.narrow(0, i, count).max());
  }
  const Tensor own =
      form == ActivationForm::kInt8 ? largest / 254 : torch::maximum(x / 16, largest / 458752);
  const double type = numbers.scalar_type() == at::kBFloat16 ? 1.0 / 256
                      : numbers.scalar_type() == at::kHalf   ? 1.0 / 2048
                                                             : 0;
  const double smallest_half = numbers.scalar_type() == at::kHalf ? 3e-8 : 0;  // half a step
  return own + 1e-6 * largest + type * (x + own) + smallest_half;
}

struct Case {
  ActivationForm form;
  at::ScalarType type;
};

class Quantize : public testing::TestWithParam<Case> {};

TEST_P(Quantize, ComesBackWithinTheStatedError) {
  const auto [form, type] = GetParam();
  torch::manual_seed(5);
  // Mixed magnitudes from 1e-4 to 1e3; the last block is partial, or the only one.
  for (const int64_t count : {1, 255, 256, 257, 5000}) {
    for (const int64_t block : {8, 100, 256, 65536}) {
      const Tensor numbers =
          (torch::randn({count}) * torch::pow(10, torch::rand({count}) * 7 - 4)).to(type);
      const Tensor back = round_trip(numbers, form, block);
      EXPECT_EQ(back.scalar_type(), type);
      const Tensor error = (back.to(torch::kFloat64) - numbers.to(torch::kFloat64)).abs();
      const Tensor over = error - bound_of(numbers, form, block);
      EXPECT_LE(over.max().item<double>(), 0) << count << " in blocks of " << block;
    }
  }
}

TEST_P(Quantize, TakesOneByteANumberAndFourABlock) {
  const auto [form, type] = GetParam();
  const Quantized quantized = quantize(torch::ones({1000}, type), {.form = form, .block = 256});
  EXPECT_EQ(quantized.codes.nbytes(), 1000U);
  EXPECT_EQ(quantized.scales.nbytes(), 16U);
}

TEST_P(Quantize, KeepsZeroAndTheLargestOfABlock) {
  const auto [form, type] = GetParam();
  Tensor numbers = torch::zeros({64}, type);
  numbers[40] = -3;  // exact in each type
  const Tensor back = round_trip(numbers, form, 32);
  EXPECT_TRUE(torch::equal(back.narrow(0, 0, 40), torch::zeros({40}, type)));
  EXPECT_NEAR(back[40].item<double>(), -3, 3e-6);
  EXPECT_EQ(back[41].item<double>(), 0);
}

TEST_P(Quantize, ABlockWithANanOrAnInfinityIsNanAndNoOtherChanges) {
  const auto [form, type] = GetParam();
  torch::manual_seed(6);
  const Tensor numbers = torch::randn({1000}).to(type);
  const Tensor wanted = round_trip(numbers, form, 100);
  for (const float bad : {kNan, kInf, -kInf}) {
    Tensor changed = numbers.clone();
    changed[350] = bad;
    const Tensor back = round_trip(changed, form, 100);
    EXPECT_TRUE(back.narrow(0, 300, 100).isnan().all().item<bool>());
    EXPECT_TRUE(torch::equal(back.narrow(0, 0, 300), wanted.narrow(0, 0, 300)));
    EXPECT_TRUE(torch::equal(back.narrow(0, 400, 600), wanted.narrow(0, 400, 600)));
  }
}

// Parts of kQuantizeChunk numbers: neither their borders nor their count affects the result.
TEST_P(Quantize, ManyNumbersAreDoneInParts) {
  const auto [form, type] = GetParam();
  torch::manual_seed(7);
  const int64_t block = 96;  // does not divide a part
  const int64_t count = kQuantizeChunk + 5 * block + 7;
  const Tensor numbers = torch::randn({count}).to(type);
  const Tensor back = round_trip(numbers, form, block);
  const int64_t border = kQuantizeChunk / block * block;
  EXPECT_TRUE(torch::equal(back.narrow(0, border, count - border),
                           round_trip(numbers.narrow(0, border, count - border), form, block)));
  EXPECT_TRUE(torch::equal(back.narrow(0, border - block, block),
                           round_trip(numbers.narrow(0, border - block, block), form, block)));
}

TEST_P(Quantize, IsTheSameEveryTime) {
  const auto [form, type] = GetParam();
  torch::manual_seed(8);
  const Tensor numbers = torch::randn({3000}).to(type);
  EXPECT_TRUE(torch::equal(round_trip(numbers, form, 256), round_trip(numbers, form, 256)));
}

std::string name_of(const testing::TestParamInfo<Case>& info) {
  return word_of(info.param.form) + "_" + c10::toString(info.param.type);
}

INSTANTIATE_TEST_SUITE_P(Forms, Quantize,
                         testing::Values(Case{ActivationForm::kInt8, at::kFloat},
                                         Case{ActivationForm::kInt8, at::kHalf},
                                         Case{ActivationForm::kInt8, at::kBFloat16},
                                         Case{ActivationForm::kFp8, at::kFloat},
                                         Case{ActivationForm::kFp8, at::kHalf},
                                         Case{ActivationForm::kFp8, at::kBFloat16}),
                         name_of);

// 127 codes on either side; ties go to the even code.
TEST(Quantize, Int8CodesAreTheNearest) {
  const Tensor numbers = torch::tensor({127.F, -127.F, 0.5F, 1.5F, 2.4F, -2.6F});
  const Quantized quantized = quantize(numbers, {.form = ActivationForm::kInt8, .block = 8});
  EXPECT_TRUE(torch::equal(quantized.codes,
                           torch::tensor({127, -127, 0, 2, 2, -3}, torch::dtype(torch::kInt8))));
  EXPECT_EQ(quantized.scales[0].item<float>(), 1);
}

// By e4m3's own table: 448 is the largest, the steps double with each power of two.
TEST(Quantize, Fp8CodesAreE4m3s) {
  const Tensor numbers = torch::tensor({448.F, 17.F, 18.9F, -240.F, 0.001953125F, 0.0009F});
  const Tensor back = round_trip(numbers, ActivationForm::kFp8, 8);
  const Tensor wanted = torch::tensor({448.F, 16.F, 18.F, -240.F, 0.001953125F, 0.F});
  EXPECT_TRUE(torch::equal(back, wanted)) << back;
}

struct Written {
  Tensor codes, scales, decoded;
};

constexpr int64_t kWidth = 32;

// By ATen's operations.
Written by_aten(const Tensor& numbers, ActivationForm form) {
  const bool is_int8 = form == ActivationForm::kInt8;
  const Tensor x = numbers.to(torch::kFloat32).view({-1, kWidth});
  const Tensor largest = x.abs().amax(1, /*keepdim=*/true);
  const Tensor scales =
      (largest / (is_int8 ? 127 : 448)).clamp_min(kSmallest) + (largest - largest);
  const Tensor scaled = x / scales;
  const Tensor codes = is_int8 ? scaled.round().to(torch::kInt8) : scaled.to(torch::kFloat8_e4m3fn);
  return {codes.view({-1}).view(torch::kByte), scales.view({-1}),
          (codes.to(torch::kFloat32) * scales).view({-1}).to(numbers.scalar_type())};
}

Written by_host(HostVectors vectors, const Tensor& numbers, ActivationForm form) {
  Written out{torch::empty_like(numbers, torch::kByte),
              torch::empty({numbers.numel() / kWidth}, torch::kFloat32), numbers.clone()};
  const HostBlocks blocks{
      .numbers = out.decoded.data_ptr(),
      .type = numbers.scalar_type() == torch::kFloat32 ? HostNumber::kFp32 : HostNumber::kBf16,
      .codes = out.codes.data_ptr<uint8_t>(),
      .is_e4m3 = form == ActivationForm::kFp8,
      .scales = out.scales.data_ptr<float>(),
      .count = out.scales.numel(),
      .width = kWidth};
  encode_on_host(blocks, vectors);
  out.decoded.fill_(kNan);
  decode_on_host(blocks, vectors);
  return out;
}

void expect_same(const Written& here, const Written& there) {
  const Tensor finite = there.scales.isfinite();
  EXPECT_TRUE(torch::equal(finite, here.scales.isfinite()));
  EXPECT_TRUE(torch::equal(here.scales.masked_select(finite), there.scales.masked_select(finite)));
  const Tensor each = finite.repeat_interleave(kWidth);
  EXPECT_TRUE(torch::equal(here.codes.masked_select(each), there.codes.masked_select(each)));
  const auto bytes = [](const Tensor& numbers) { return numbers.contiguous().view(torch::kByte); };
  EXPECT_TRUE(torch::equal(bytes(here.decoded.masked_select(each)),
                           bytes(there.decoded.masked_select(each))));
  EXPECT_TRUE(here.decoded.masked_select(~each).isnan().all().item<bool>());
}

// All BF16 numbers, in blocks of one exponent and in blocks of any; FP32 numbers of each magnitude.
TEST(Quantize, EveryVectorWidthHasTheBitsOfAten) {
  torch::manual_seed(9);
  const Tensor all = torch::arange(65536, torch::kInt32).to(torch::kInt16).view(torch::kBFloat16);
  const Tensor mixed = all.index_select(0, torch::randperm(65536));
  const Tensor normal = torch::randn({1 << 20});
  const Tensor wide = normal * torch::pow(2, 20 * torch::randn({1 << 20}));
  for (const HostVectors vectors : kHostVectors) {
    if (!processor_has(vectors)) continue;
    for (const ActivationForm form : {ActivationForm::kInt8, ActivationForm::kFp8}) {
      for (const Tensor& numbers : {all, mixed, normal, wide, normal.to(torch::kBFloat16)}) {
        expect_same(by_host(vectors, numbers, form), by_aten(numbers, form));
      }
    }
  }
}

}  // namespace
}  // namespace headroom
