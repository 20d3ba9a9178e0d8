// Packed sequences with techniques: recomputation and fetching in backward use the same pass.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/batch_layout.h"
#include "model/torch.h"
#include "tests/train/support/tiny_spec.h"
#include "train/build.h"

namespace headroom {
namespace {

using torch::Tensor;

// Gradients of a loss over three packed sequences.
std::map<std::string, Tensor> gradients(const RunSpec& spec) {
  std::vector<std::string> notes;
  const auto step = build_step(spec, torch::kCPU, &notes);
  torch::manual_seed(3);
  const std::vector<int64_t> lengths = {5, 16, 9};
  const Tensor tokens_1T = torch::randint(50, {1, 30}, torch::kInt64);
  const BatchLayout pass = packed_pass(lengths, torch::kCPU);
  const PassScope scope(step->model(), &pass);
  const SavingGuard saving(step->saved.get());
  const Tensor logits = step->model()->forward(tokens_1T, step->run_block, step->run_groups);
  logits.pow(2).mean().backward();
  std::map<std::string, Tensor> all;
  for (const auto& parameter : step->model()->named_parameters()) {
    all[parameter.key()] = parameter.value().grad().clone();
  }
  return all;
}

class PackedTechnique : public ::testing::TestWithParam<Attention> {};

TEST_P(PackedTechnique, GradientsAreTheSameToTheBitUnderCheckpointingAndOffload) {
  RunSpec spec = tiny_spec();
  spec.profile_type = Mode::kForwardBackward;
  spec.attention = GetParam();
  spec.kv_heads = 2;
  const auto plain = gradients(spec);
  const auto expect_same = [&](const RunSpec& other) {
    const auto given = gradients(other);
    for (const auto& [name, gradient] : plain) {
      EXPECT_TRUE(torch::equal(given.at(name), gradient)) << row_name(other) << ": " << name;
    }
  };
  for (const char* checkpoint : {"full", "every:2", "selective"}) {
    RunSpec other = spec;
    other.checkpoint = parse_checkpoint("--recompute", checkpoint);
    expect_same(other);
  }
  RunSpec offloaded = spec;
  offloaded.activations = parse_activations("offload");
  expect_same(offloaded);
}

INSTANTIATE_TEST_SUITE_P(Attentions, PackedTechnique,
                         ::testing::Values(Attention::kEager, Attention::kSdpa));

}  // namespace
}  // namespace headroom
