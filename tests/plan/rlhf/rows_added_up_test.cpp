// Sums of components against the rehearsal of the same step, which tests/virtual_gpu compares with
// the step itself. The sum is the peak at the start of backward: everything kept, the logits and
// the loss's tensors, no gradient yet.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "plan/rlhf/rehearsed.h"
#include "profiling/theory/peak.h"
#include "tests/plan/rlhf/small_plan.h"

namespace headroom {
namespace {

constexpr int64_t kManyWords = 64000;  // the loss is the peak
constexpr int64_t kFewWords = 1000;

const std::vector<Checkpoint>& checkpoints() {
  static const std::vector<Checkpoint> kAll = {{CheckpointKind::kNone},
                                               {CheckpointKind::kFull},
                                               {CheckpointKind::kEvery, 2},
                                               {CheckpointKind::kBlocks, 50},
                                               {CheckpointKind::kSelective}};
  return kAll;
}

struct AddedUpCase {
  std::string precision;
  Attention attention = Attention::kSdpa;
  int64_t kv_heads = 16;
  Checkpoint checkpoint;
  int64_t vocab_size = kManyWords;
};

RlhfSpec plan_of(const AddedUpCase& one) {
  RlhfSpec spec = small_plan();
  spec.actor = {.name = "custom",
                .d_model = 1024,
                .d_ff = 2816,
                .layers = 3,
                .heads = 16,
                .kv_heads = one.kv_heads,
                .vocab_size = one.vocab_size};
  spec.critic.reset();
  spec.reward.reset();
  spec.setup.reference = Reference::kNone;
  spec.seq_len = 512;
  spec.response_len = 0;
  spec.precision = find_state_precision(one.precision);
  spec.attention = one.attention;
  spec.setup.checkpoint = one.checkpoint;
  return spec;
}

std::map<std::string, int64_t> components_of(const RlhfSpec& spec) {
  std::map<std::string, int64_t> bytes;
  for (const Component& one : added_up(spec, RlhfModels(spec)).components) {
    if (one.needed_in(RlhfPhase::kTraining)) bytes[one.name] += one.bytes;
  }
  return bytes;
}

std::string in_words(const AddedUpCase& one) {
  return one.precision + " " + to_string(one.attention) + " checkpoint " +
         to_string(one.checkpoint) + ", key/value heads " + std::to_string(one.kv_heads);
}

// For models whose peak is the loss. difference: relative to the peak.
void expect_peak_where_backward_begins(const AddedUpCase& one, double difference) {
  const RlhfSpec spec = plan_of(one);
  int64_t computed = 0;
  for (const auto& [name, bytes] : components_of(spec)) {
    const bool elsewhere =
        name == "Actor (gradients)" || name == "Actor (optimizer)" || name == "CUDA context";
    if (!elsewhere) computed += bytes;
  }
  RunSpec run = step_run_of(spec, spec.actor);
  run.profile_type = Mode::kForwardBackward;  // with masters the update would be the peak
  const Peak peak = predicted_peak(run);
  EXPECT_TRUE(peak.where.starts_with("backward")) << peak.where << ": " << in_words(one);
  EXPECT_NEAR(static_cast<double>(computed) / static_cast<double>(peak.requested), 1, difference)
      << in_words(one);
}

TEST(RowsAddedUp, AreThePeakOfTheStepWhereBackwardBegins) {
  for (const char* precision : {"fp32", "bf16"}) {
    for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
      for (const int64_t kv_heads : {4, 16}) {
        expect_peak_where_backward_begins({precision, attention, kv_heads}, 1e-4);
      }
    }
  }
}

TEST(RowsAddedUp, AreItWithCheckpointingToo) {
  for (const Checkpoint& checkpoint : checkpoints()) {
    expect_peak_where_backward_begins({"fp32", Attention::kEager, 16, checkpoint}, 1e-3);
    expect_peak_where_backward_begins({"bf16", Attention::kEager, 16, checkpoint}, 1e-3);
    expect_peak_where_backward_begins({"bf16", Attention::kSdpa, 16, checkpoint}, 1e-3);
  }
}

TEST(RowsAddedUp, AreItWithBf16Weights) {
  for (const char* precision : {"bf16-pure", "bf16-mixed"}) {
    for (const Attention attention : {Attention::kEager, Attention::kSdpa}) {
      for (const CheckpointKind kind : {CheckpointKind::kNone, CheckpointKind::kFull}) {
        expect_peak_where_backward_begins({precision, attention, 4, {kind}}, 1e-3);
      }
    }
  }
}

// The blocks are the peak. A sum of rows counts every gradient, but the step's peak comes before
// some exist, among backward's temporaries, which are in no row: the totals differ, these
// components do not.
TEST(RowsAddedUp, HaveWhatIsKeptAndWhatIsComputedAgain) {
  std::map<std::string, int64_t> head;  // last norm, logits and loss, independent of the blocks
  for (const auto& [precision, attention] :
       {std::pair("fp32", Attention::kSdpa), std::pair("bf16", Attention::kEager)}) {
    for (const Checkpoint& checkpoint : checkpoints()) {
      const AddedUpCase one = {precision, attention, 16, checkpoint, kFewWords};
      const RlhfSpec spec = plan_of(one);
      const std::map<std::string, int64_t> rows = components_of(spec);
      const std::map<std::string, int64_t> of_run = predicted(step_run_of(spec, spec.actor));
      const int64_t beside = of_run.at("activations") - rows.at("Activations");
      EXPECT_EQ(beside, head.try_emplace(precision, beside).first->second) << in_words(one);
      if (!rows.contains("Recomputed block")) continue;
      const bool casts = one.precision == "bf16" && checkpoint.kind != CheckpointKind::kSelective;
      const int64_t blocks = checkpoint.kind == CheckpointKind::kEvery ? 2 : 1;
      const int64_t cast_bytes = 2 * (4 * 1024 * 1024 + 3 * 1024 * 2816);
      EXPECT_EQ(rows.at("Recomputed block") - (casts ? blocks * cast_bytes : 0),
                of_run.at("recomputed"))
          << in_words(one);
    }
  }
}

}  // namespace
}  // namespace headroom
