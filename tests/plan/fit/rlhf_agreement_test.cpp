// `headroom rlhf` and `headroom fit` propose the same where both apply: one GPU, training only.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <span>

#include "plan/fit/questions/need.h"
#include "plan/fit/search.h"
#include "plan/search/recommend.h"
#include "tests/support/at_night.h"

namespace headroom {
namespace {

struct AgreementCase {
  const char* size;
  const char* states;  // of state_precisions()
  int64_t batch;
  int64_t context;
  int64_t card_gib;
};

RlhfSpec plan_of(const AgreementCase& one) {
  RlhfSpec spec;
  spec.actor = *find_config(one.size);
  spec.critic.reset();
  spec.reward.reset();
  spec.batch_size = one.batch;
  spec.seq_len = one.context;
  spec.response_len = 0;
  spec.card = find_card("a100-80gb");
  spec.card.total_bytes = one.card_gib << 30;
  spec.num_gpus = 1;
  spec.precision = find_state_precision(one.states);
  spec.attention = Attention::kSdpa;
  spec.setup.reference = Reference::kNone;
  return spec;
}

FitQuestion question_of_plan(const AgreementCase& one) {
  RunSpec base{.model_size = one.size,
               .context_length = one.context,
               .batch_size = one.batch,
               .profile_type = Mode::kTraining,
               .attention = Attention::kSdpa,
               .optimizer_impl = OptimizerImpl::kFused,
               .device = {.kind = DeviceKind::kVirtual, .card = "a100-80gb"}};
  base.warmup_steps = base.measure_steps = 2;
  base.record_steps = 0;
  const StatePrecision& states = find_state_precision(one.states);
  if (states.weight == 2) {
    base.weights = WeightType::kBf16;
    base.master_weights = states.master > 0 ? MasterCopy::kFp32 : MasterCopy::kNone;
  } else {
    base.precision = states.compute;
  }
  FitQuestion question{.base = base, .techniques = technique_list(base)};
  std::erase_if(question.techniques, [](const RunTechnique& technique) {
    return technique.technique != Technique::kOptimizerOffload &&
           technique.technique != Technique::kCheckpoint &&
           technique.technique != Technique::kMicroBatches;
  });
  // The fused update runs on the device; the host has its own.
  for (RunTechnique& technique : question.techniques) {
    if (technique.technique != Technique::kOptimizerOffload) continue;
    technique.levels.front().settings.push_back({"optimizer_impl", "reference"});
  }
  return question;
}

// Compares peaks with the card, like the plan; a real card adds fragmentation.
FitOracle judge_of(const Card& card) {
  FitOracle oracle;
  oracle.capacity = card.total_bytes - card.context_bytes;
  oracle.floor = floor_bytes;
  oracle.need = predicted_need;
  oracle.fits = [room = oracle.capacity](const RunSpec& spec) {
    return predicted_need(spec) <= room;
  };
  oracle.run = [fits = oracle.fits](const RunSpec& spec) {
    Record record{.spec = spec};
    record.peak = MemoryBytes{predicted_need(spec), 0, 0};
    return Verdict{.fits = fits(spec) ? Fits::kYes : Fits::kNo,
                   .record = std::make_shared<const Record>(std::move(record)),
                   .reason = ""};
  };
  return oracle;
}

std::string words_of(bool offloads_optimizer, const Checkpoint& checkpoint, int64_t sequences) {
  return std::string(offloads_optimizer ? "optimizer offload, " : "") + "checkpoint " +
         to_string(checkpoint) + ", " + std::to_string(sequences) + " at once";
}

struct FromPlan {
  std::string words = "nothing";
  int64_t margin = INT64_MAX;
};

FromPlan recommended_by_plan(const AgreementCase& one) {
  const std::vector<Recommended> fitting = recommend(plan_of(one)).fitting;
  if (fitting.empty()) return {};
  const RlhfSetup& setup = fitting.front().spec.setup;
  return {words_of(setup.offloads_optimizer(), setup.checkpoint, setup.micro_batch_size),
          fitting.front().margin()};
}

std::string recommended_by_fit(const AgreementCase& one) {
  const FitResult found = search_fit(question_of_plan(one), judge_of(plan_of(one).card));
  if (found.answers.empty()) return "nothing";
  const RunSpec& spec = found.answers.front().set.spec;
  return words_of(spec.optimizer_offload.any(), spec.checkpoint,
                  spec.batch_size / spec.micro_batches);
}

const std::vector<AgreementCase> kAgreementCases = {
    {"small", "bf16", 8, 512, 4},          {"small", "bf16", 8, 512, 5},
    {"small", "bf16", 8, 512, 8},          {"small", "fp32", 16, 512, 6},
    {"medium", "bf16", 16, 512, 10},       {"medium", "bf16", 16, 512, 12},
    {"medium", "bf16", 16, 512, 24},       {"medium", "fp32", 8, 1024, 14},
    {"medium", "bf16-mixed", 32, 512, 12}, {"medium", "bf16-mixed", 32, 512, 9},
    {"medium", "bf16-mixed", 32, 512, 4},  {"large", "bf16", 8, 1024, 24},
    {"medium", "bf16-mixed", 1, 512, 4},   {"large", "bf16", 8, 1024, 30},
    {"medium", "fp32", 1, 512, 3},         {"medium", "fp32", 1, 512, 4}};

// Within 3 % of the card's memory they may differ, and fit, which runs it, is right: the plan omits
// backward's tensors beside gradients accumulated over micro-batches (large, 2 of 8 sequences at
// 1024: plan 23.68 GiB, step 24.23 GiB, both with the context).
TEST(PlanAndFit, RecommendTheSame) {
  std::set<std::string> seen;
  const size_t by_day = 4;  // the small ones
  const size_t count = is_at_night() ? kAgreementCases.size() : by_day;
  for (const AgreementCase& one : std::span(kAgreementCases).first(count)) {
    const FromPlan plan = recommended_by_plan(one);
    if (plan.margin < (one.card_gib << 30) * 3 / 100) continue;
    EXPECT_EQ(plan.words, recommended_by_fit(one))
        << one.size << " " << one.states << " on " << one.card_gib << " GiB";
    seen.insert(plan.words);
  }
  EXPECT_GE(seen.size(), is_at_night() ? 5U : 2U) << "the cases are all alike";
  if (!is_at_night()) return;
  EXPECT_TRUE(std::any_of(seen.begin(), seen.end(), [](const std::string& words) {
    return words.starts_with("optimizer offload");
  })) << "none needs the host";
}

}  // namespace
}  // namespace headroom
