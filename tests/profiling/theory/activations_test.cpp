#include <gtest/gtest.h>

#include "profiling/theory/rows.h"
#include "tests/train/support/tiny_spec.h"

namespace headroom {
namespace {

RunSpec tiny() {
  RunSpec spec = tiny_spec();
  spec.profile_type = Mode::kForwardBackward;
  return spec;
}

const Row& find(const std::vector<Row>& rows, const std::string& group, const std::string& tensor) {
  for (const Row& row : rows) {
    if (row.group == group && row.tensor == tensor) return row;
  }
  throw std::runtime_error("no row " + group + "/" + tensor);
}

// The tensors that autograd of libtorch 2.11 holds on the CPU, found by walking the graph of the
// same operations and counting distinct storages. The walk was in Python, where dividing by a
// number keeps that number as a tensor of 8 bytes; C++ keeps it inside the node, so it is omitted
// here.
struct Measured {
  const char* what;
  void (*change)(RunSpec&);
  int64_t block_bytes;
  int64_t block_tensors;
  int64_t all_bytes;  // whole model, without the logits (saved by no node) and the loss itself
  int64_t hook_tensors;
  int64_t hook_bytes;
};

void one_head(RunSpec& spec) {
  spec.d_model = 8;
  spec.heads = 1;
  spec.kv_heads = 1;
}

const Measured kMeasured[] = {
    {"fp32 eager", [](RunSpec&) {}, 90112, 22, 295936, 46, 162048},
    {"bf16 eager", [](RunSpec& s) { s.precision = Precision::kBf16; }, 60160, 25, 197568, 46,
     95232},
    {"fp16 eager", [](RunSpec& s) { s.precision = Precision::kFp16; }, 60160, 25, 197568, 46,
     95232},
    {"fp32 sdpa", [](RunSpec& s) { s.attention = Attention::kSdpa; }, 76544, 19, 255232, 42,
     140288},
    {"bf16 sdpa",
     [](RunSpec& s) {
       s.attention = Attention::kSdpa;
       s.precision = Precision::kBf16;
     },
     52992, 22, 176064, 42, 83968},
    {"fp32 eager, 2 key heads", [](RunSpec& s) { s.kv_heads = 2; }, 90112, 22, 295936, 46, 157952},
    {"bf16 eager, 2 key heads",
     [](RunSpec& s) {
       s.kv_heads = 2;
       s.precision = Precision::kBf16;
     },
     60160, 25, 197568, 46, 93184},
    {"fp32 eager, 1 key head", [](RunSpec& s) { s.kv_heads = 1; }, 90112, 22, 295936, 46, 155904},
    {"fp32 sdpa, 2 key heads",
     [](RunSpec& s) {
       s.kv_heads = 2;
       s.attention = Attention::kSdpa;
     },
     72448, 19, 242944, 42, 132096},
    {"batch 1", [](RunSpec& s) { s.batch_size = 1; }, 45184, 22, 148352, 46, 99584},
    {"batch 1 bf16 sdpa",
     [](RunSpec& s) {
       s.batch_size = 1;
       s.attention = Attention::kSdpa;
       s.precision = Precision::kBf16;
     },
     26496, 22, 88032, 42, 51712},
    {"one token", [](RunSpec& s) { s.context_length = 1; }, 4657, 22, 15571, 46, 41313},
    {"one token, sdpa",
     [](RunSpec& s) {
       s.context_length = 1;
       s.attention = Attention::kSdpa;
     },
     4528, 18, 15184, 42, 41408},
    {"one head", one_head, 45952, 22, 154240, 46, 67200},
    {"one head, sdpa",
     [](RunSpec& s) {
       one_head(s);
       s.attention = Attention::kSdpa;
     },
     41344, 18, 140416, 42, 61568},
};

TEST(TheoryActivations, EqualWhatAutogradHoldsToTheByte) {
  for (const Measured& measured : kMeasured) {
    RunSpec spec = tiny();
    measured.change(spec);
    const auto rows = theory_rows(spec);
    EXPECT_EQ(residual_bytes_per_block(spec), measured.block_bytes) << measured.what;
    EXPECT_EQ(residual_tensors_per_block(spec), measured.block_tensors) << measured.what;
    const int64_t all = activation_bytes(rows) - find(rows, kHead, "logits_BSV").bytes -
                        find(rows, kLoss, "loss").bytes;
    EXPECT_EQ(all, measured.all_bytes) << measured.what;
    const HookTally tally = hook_tally(rows, kBlock);
    EXPECT_EQ(tally.tensors, measured.hook_tensors) << measured.what;
    EXPECT_EQ(tally.bytes, measured.hook_bytes) << measured.what;
  }
}

TEST(TheoryActivations, OneBlockByHand) {
  const auto rows = theory_rows(tiny());
  EXPECT_EQ(find(rows, kBlock, "ln1.inverse_rms_BS1").bytes, 2 * 16 * 4);
  EXPECT_EQ(find(rows, kBlock, "ln1.normalized_BSD").bytes, 2 * 16 * 32 * 4);
  EXPECT_EQ(find(rows, kBlock, "exp_BHST").bytes, 2 * 4 * 16 * 16 * 4);
  EXPECT_EQ(find(rows, kBlock, "mask_11ST").bytes, 16 * 16);
  EXPECT_EQ(find(rows, kBlock, "max_indices_BHS1").bytes, 2 * 4 * 16 * 8);
  EXPECT_EQ(find(rows, kBlock, "w1_x_BSF").bytes, 2 * 16 * 48 * 4);
  EXPECT_EQ(find(rows, kBlock, "output_BSD").bytes, 2 * 16 * 32 * 4);
  EXPECT_EQ(find(rows, kBlock, "x_BSD").bytes, 0) << "the block's input is the last one's output";
  EXPECT_EQ(find(rows, kBlock, "exp_BHST").derivation, "B*H*S*T * 4 B = 2*4*16*16 * 4 B");
  EXPECT_EQ(find(rows, kBlock, "mask_11ST").derivation, "S*T * 1 B = 16*16 * 1 B");
}

TEST(TheoryActivations, Fp8ProductsKeepAByteANumberAScaleAndNoCastOfAWeight) {
  RunSpec spec = tiny();
  spec.precision = Precision::kFp8;
  for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
    spec.attention = attention;
    const auto rows = theory_rows(spec);
    EXPECT_EQ(find(rows, kBlock, "ln1.output_codes_DBS").bytes, 3 * (2 * 16 * 32));
    EXPECT_EQ(find(rows, kBlock, "ln1.output_scale").bytes, 3 * 4);
    EXPECT_EQ(find(rows, kBlock, "heads_codes_HKBS").bytes, 2 * 16 * 32);
    EXPECT_EQ(find(rows, kBlock, "ln2.output_codes_DBS").bytes, 2 * (2 * 16 * 32));
    EXPECT_EQ(find(rows, kBlock, "gate_codes_FBS").bytes, 2 * 16 * 48);
    EXPECT_EQ(find(rows, kBlock, "q_proj.weight_DD").bytes, 0) << "the parameter itself";
    EXPECT_EQ(find(rows, kFinalNorm, "ln_final.output_cast_BSD").bytes, 2 * 16 * 32 * 2);
    EXPECT_EQ(total(rows, kCastCache), 2 * 50 * 32) << "the head's";
  }
}

TEST(TheoryActivations, HeadAndLossByHand) {
  const auto rows = theory_rows(tiny());
  EXPECT_EQ(total(rows, kEmbedding), 2 * 16 * 32 * 4);
  EXPECT_EQ(total(rows, kFinalNorm), 2 * 16 * 4 + 2 * (2 * 16 * 32 * 4));
  EXPECT_EQ(total(rows, kHead), 2 * 16 * 50 * 4);
  EXPECT_EQ(total(rows, kLoss), 2 * (2 * 16 * 50 * 4) + 2 * 16 * 4 + 2 * 16 * 8 + 4);
}

TEST(TheoryActivations, InferenceKeepsNothingAndOnlyBackwardHasALoss) {
  RunSpec spec = tiny();
  spec.profile_type = Mode::kForward;
  EXPECT_EQ(activation_bytes(theory_rows(spec)), 0);
  EXPECT_EQ(residual_bytes_per_block(spec), 0);
  spec.profile_type = Mode::kForwardGrad;
  EXPECT_EQ(total(theory_rows(spec), kLoss), 0);
  EXPECT_EQ(residual_bytes_per_block(spec), 90112);
}

// On CUDA exp and sum run in FP32 under autocast, so two (B, H, S, T) tensors differ in type.
TEST(TheoryActivations, TheTwoAutocastListsDifferInTheSoftmax) {
  RunSpec spec = tiny();
  spec.precision = Precision::kBf16;
  const int64_t on_cpu = residual_bytes_per_block(spec);
  spec.device = parse_device("cuda");
  const auto rows = theory_rows(spec);
  EXPECT_EQ(find(rows, kBlock, "exp_BHST").dtype, DType::kFp32);
  EXPECT_EQ(find(rows, kBlock, "weights_BHST").dtype, DType::kBf16);
  const int64_t scores = 2 * 4 * 16 * 16;
  const int64_t sums = 2 * 4 * 16;
  EXPECT_EQ(total(rows, kBlock), on_cpu + 2 * scores + 2 * sums);
  for (const Row& row : rows) EXPECT_FALSE(row.measured) << row.tensor;
}

// Measured on virtual cards: tests/virtual_gpu/steps/theory_test.py.
TEST(TheoryActivations, TheCardDecidesWhichKernelComputesFusedAttention) {
  RunSpec spec = tiny();
  spec.attention = Attention::kSdpa;
  const auto random_state = [&](const char* card, int64_t context) {
    spec.device = parse_device(card);
    spec.context_length = context;
    int64_t bytes = 0;
    for (const Row& row : theory_rows(spec)) {
      if (row.tensor.starts_with("random_")) bytes += row.bytes;
    }
    return bytes;
  };
  EXPECT_EQ(random_state("virtual:h200", 33), 0) << "FP32: the memory-efficient kernel";
  EXPECT_EQ(find(theory_rows(spec), kBlock, "logsumexp_BHP").bytes, 2 * 4 * 64 * 4);
  spec.context_length = 32;
  EXPECT_EQ(find(theory_rows(spec), kBlock, "logsumexp_BHP").bytes, 2 * 4 * 32 * 4);
  spec.precision = Precision::kBf16;
  EXPECT_EQ(random_state("virtual:h200", 33), 16) << "cuDNN's";
  EXPECT_EQ(find(theory_rows(spec), kBlock, "logsumexp_BHS").bytes, 2 * 4 * 33 * 4);
  EXPECT_EQ(random_state("virtual:h200", 1), 24) << "cuDNN takes no single query";
  EXPECT_EQ(random_state("virtual:a100-80gb", 33), 24) << "the flash kernel";
  EXPECT_EQ(random_state("virtual:t4", 33), 0) << "before 8.0: the memory-efficient kernel";
  EXPECT_EQ(random_state("cuda", 33), 16);
}

}  // namespace
}  // namespace headroom
