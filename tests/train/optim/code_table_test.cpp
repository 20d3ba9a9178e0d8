#include "train/optim/code_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "train/optim/dynamic_map.h"

namespace headroom {
namespace {

using torch::Tensor;

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class CodeTableTest : public testing::TestWithParam<bool> {
 protected:
  const DynamicMap& map() const { return GetParam() ? maps_.with_sign : maps_.without_sign; }

  // The bits of FP32 numbers.
  void expect_codes_of_the_search(const Tensor& bits) const {
    const Tensor x = bits.view(torch::kFloat);
    const Tensor expected = at::bucketize(x, map().middles, /*out_int32=*/true).to(torch::kByte);
    Tensor codes = torch::empty_like(expected);
    for (int64_t i = 0; i < x.numel(); ++i) {
      codes.mutable_data_ptr<uint8_t>()[i] = map().code_table->code(x.const_data_ptr<float>()[i]);
    }
    const Tensor wrong = codes.ne(expected);
    EXPECT_EQ(wrong.sum().item<int64_t>(), 0)
        << "bits " << bits.masked_select(wrong).slice(0, 0, 5);
  }
  void expect_codes_of_the_search(const std::vector<float>& numbers) const {
    expect_codes_of_the_search(torch::tensor(numbers).view(torch::kInt));
  }

  // Codes and scales of blocks, by all vectors of this processor.
  void expect_blocks_of_torch(const Tensor& blocks) const {
    for (const HostVectors vectors : kHostVectors) {
      if (processor_has(vectors)) expect_blocks_of_torch(blocks.clone(), vectors);
    }
  }

 private:
  // Overwrites x.
  void expect_blocks_of_torch(const Tensor& x, HostVectors vectors) const {
    const Tensor scale = at::linalg_vector_norm(x, kInf, at::IntArrayRef{1}, /*keepdim=*/true);
    const Tensor expected = at::bucketize(x.div(scale), map().middles).to(torch::kByte);
    Tensor codes = torch::empty(x.sizes(), torch::kByte);
    Tensor scales = torch::empty({x.size(0), 1});
    encode_blocks({.numbers = x.mutable_data_ptr<float>(),
                   .codes = codes.mutable_data_ptr<uint8_t>(),
                   .scales = scales.mutable_data_ptr<float>(),
                   .count = x.size(0),
                   .width = x.size(1)},
                  *map().code_table, vectors);
    EXPECT_TRUE(codes.equal(expected));
    EXPECT_TRUE(scales.view(torch::kInt).equal(scale.view(torch::kInt))) << "bit by bit";
  }

  DynamicMaps maps_{torch::kCPU};
};

// Each upper half is an entry of the table. NaNs of every kind, infinities, zeros and subnormal
// numbers are among them.
TEST_P(CodeTableTest, CodesOfEveryEntryAreThoseOfTheSearch) {
  const Tensor upper = torch::arange(1 << 16, torch::kInt).bitwise_left_shift(16);
  for (const int lower : {0x0000, 0x0001, 0x0002, 0x00ff, 0x1234, 0x5555, 0x7ffe, 0x7fff, 0x8000,
                          0x8001, 0xaaaa, 0xcccd, 0xff00, 0xfffe, 0xffff}) {
    expect_codes_of_the_search(upper.bitwise_or(lower));
  }
}

TEST_P(CodeTableTest, CodesAtEveryMiddleAndBesideItAreThoseOfTheSearch) {
  std::vector<float> numbers;
  for (int64_t i = 0; i < CodeTable::kMiddles; ++i) {
    const float middle = map().middles[i].item<float>();
    float below = middle;
    float above = middle;
    for (int step = 0; step < 4; ++step) {
      numbers.insert(numbers.end(), {below, above});
      below = std::nextafter(below, -kInf);
      above = std::nextafter(above, kInf);
    }
  }
  expect_codes_of_the_search(numbers);
}

TEST_P(CodeTableTest, CodesOfSpecialNumbersAreThoseOfTheSearch) {
  const float least = std::numeric_limits<float>::denorm_min();
  expect_codes_of_the_search({0.0F, -0.0F, least, -least, 1, -1, kInf, -kInf, kNan, -kNan});
  EXPECT_EQ(map().code_table->code(kNan), 255);
}

// Codes and scales of a block with each kind of number, and of a block that is not full.
TEST_P(CodeTableTest, BlocksAreThoseOfTheOperationsOfTorch) {
  torch::manual_seed(5);
  Tensor full = torch::randn({600, 256}) * torch::pow(10.0, -7 * torch::rand({600, 256}));
  full[1].zero_();
  full[2].zero_().neg_();
  full[3][7] = kInf;
  full[4][7] = -kInf;
  full[5][7] = kNan;
  full[6][7] = torch::zeros({}).mul(kInf);
  full[7] = 1e-42;
  expect_blocks_of_torch(full);
  expect_blocks_of_torch(torch::randn({1, 17}));
}

// A block whose largest magnitude is 1 keeps its numbers: every one near a middle, both signs.
TEST_P(CodeTableTest, BlocksAtEveryMiddleAreThoseOfTheOperationsOfTorch) {
  const Tensor middles = map().middles.view({-1, 1});
  const Tensor bits = middles.view(torch::kInt) + torch::arange(-7, 8, torch::kInt);
  const Tensor near =
      torch::cat({bits.view(torch::kFloat), -bits.view(torch::kFloat)}).clamp(-1, 1);
  const Tensor blocks = torch::cat({near, torch::ones({near.size(0), 1})}, 1);
  expect_blocks_of_torch(blocks);
}

INSTANTIATE_TEST_SUITE_P(Maps, CodeTableTest, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "WithSign" : "WithoutSign");
});

}  // namespace
}  // namespace headroom
