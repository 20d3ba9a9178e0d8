#include "train/settings/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using testing::HasSubstr;

TEST(Spec, EveryFieldSurvivesJson) {
  RunSpec spec{.model_size = "2.7B",
               .context_length = 128,
               .profile_type = Mode::kTraining,
               .precision = Precision::kBf16,
               .attention = Attention::kSdpa,
               .optimizer_impl = OptimizerImpl::kFused,
               .learning_rate = 3e-4,
               .release_gradients = true,
               .tokens = "data/\"quoted\" name.bin",
               .stacks = Stacks::kNone};
  const RunSpec read = spec_from_json(nlohmann::json::parse(to_json(spec).dump()));
  for (const Field& field : fields()) EXPECT_EQ(field.get(read), field.get(spec)) << field.name;
}

TEST(Spec, EveryFieldIsListedOnceAndReadsItsOwnText) {
  std::set<std::string> names;
  for (const Field& field : fields()) {
    EXPECT_TRUE(names.insert(field.name).second) << field.name;
    RunSpec spec;
    field.set(spec, field.get(RunSpec{}));
    EXPECT_EQ(field.get(spec), field.get(RunSpec{})) << field.name;
    for (const auto& choice : field.choices) {
      field.set(spec, choice);
      EXPECT_EQ(field.get(spec), choice) << field.name;
    }
  }
}

TEST(Spec, AnUnknownSizeIsAnsweredWithTheKnownOnes) {
  try {
    validate(RunSpec{.model_size = "smal"});
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--model-size: 'smal'"));
    EXPECT_THAT(error.what(), HasSubstr("did you mean small?"));
    EXPECT_THAT(error.what(), HasSubstr("2.7B"));
  }
}

TEST(Spec, DimensionsOverrideTheNamedSize) {
  EXPECT_EQ(model_config(RunSpec{.model_size = "small", .layers = 2}).layers, 2);
  EXPECT_EQ(model_config(RunSpec{.model_size = "small", .layers = 2}).name, "custom");
  EXPECT_EQ(model_config(RunSpec{.model_size = "small", .heads = 6}).kv_heads, 6);
  EXPECT_EQ(model_config(RunSpec{.model_size = "small"}).name, "small");
  EXPECT_THROW(validate(RunSpec{.model_size = "custom", .d_model = 64}), UsageError);
  EXPECT_THROW(validate(RunSpec{.heads = 7}), UsageError);
}

TEST(Spec, RefusesADeviceItDoesNotKnowAndNothingToMeasure) {
  EXPECT_THROW(parse_device("gpu"), UsageError);
  EXPECT_THROW(parse_device("cuda:x"), UsageError);
  EXPECT_THROW(parse_device("cuda:N"), UsageError);
  EXPECT_THROW(parse_device("virtual:h200,memory=1"), UsageError);
  EXPECT_NO_THROW(validate(RunSpec{.device = parse_device("cuda:1")}));
  EXPECT_THROW(validate(RunSpec{.measure_steps = 0, .record_steps = 0}), UsageError);
  EXPECT_THROW(validate(RunSpec{.record_steps = 0, .snapshot = "a.pickle"}), UsageError);
}

TEST(Spec, Tf32IsRefusedWhereNothingWouldBeRounded) {
  EXPECT_THROW(validate({.precision = Precision::kTf32, .device = parse_device("cpu")}),
               UsageError);
  for (const char* device : {"auto", "cuda", "virtual:h200"}) {
    EXPECT_NO_THROW(validate({.precision = Precision::kTf32, .device = parse_device(device)}))
        << device;
  }
}

TEST(Spec, Fp8RunsOnCardsThatHaveItInSizesThatItsProductsTake) {
  RunSpec spec{.profile_type = Mode::kTraining, .precision = Precision::kFp8};
  for (const char* device : {"auto", "cpu", "cuda", "virtual:h100-80gb", "virtual:rtx4090"}) {
    spec.device = parse_device(device);
    EXPECT_NO_THROW(validate(spec)) << device;
  }
  for (const char* device : {"virtual:a100-80gb", "virtual:rtx3090", "virtual:t4"}) {
    spec.device = parse_device(device);
    EXPECT_THROW(validate(spec), UsageError) << device;
  }
  spec.device = {};
  const auto refusal = [](const RunSpec& wrong) -> std::string {
    try {
      validate(wrong);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(row_name(spec), "small_ctx512_training_fp8");
  std::vector<RunSpec> wrong(4, spec);
  wrong[0].d_ff = 100;
  wrong[1].d_model = 24;
  wrong[2].d_model = 192;  // 12 heads of 16
  wrong[2].kv_heads = 12;
  wrong[3].context_length = 5;
  EXPECT_THAT(refusal(wrong[0]), HasSubstr("--d-ff: '100' is no multiple of 16"));
  EXPECT_THAT(refusal(wrong[1]), HasSubstr("--d-model: '24'"));
  EXPECT_EQ(refusal(wrong[2]), "");
  wrong[2].d_model = 96;
  wrong[2].kv_heads = 1;
  EXPECT_THAT(refusal(wrong[2]), HasSubstr("--kv-heads: '1' makes keys of 8 numbers"));
  EXPECT_THAT(refusal(wrong[3]), HasSubstr("'5' times 4 sequences is 20 tokens"));
  wrong[3].profile_type = Mode::kForwardGrad;
  EXPECT_EQ(refusal(wrong[3]), "") << "tokens are summed over in backward alone";
  wrong[3].profile_type = Mode::kTraining;
  wrong[3].context_length = 4;
  EXPECT_EQ(refusal(wrong[3]), "");
  wrong[3].micro_batches = 2;
  EXPECT_THAT(refusal(wrong[3]), HasSubstr("'4' times 2 sequences is 8 tokens"));
}

TEST(Spec, AnUnknownOptimizerIsRefusedWithAllOfThem) {
  RunSpec spec;
  try {
    find_field("optimizer")->set(spec, "rprop");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(
        error.what(),
        HasSubstr("'rprop' is unknown; allowed: " + join(choices_of<OptimizerKind>()) + " ("));
  }
}

// Refuses an implementation that an optimizer lacks, and names the existing ones.
TEST(Spec, AnImplementationOfAnotherOptimizerIsRefused) {
  const auto refusal = [](OptimizerKind kind, OptimizerImpl impl) {
    try {
      validate(RunSpec{.optimizer = kind, .optimizer_impl = impl});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(OptimizerKind::kAdam8bit, OptimizerImpl::kForeach),
            "--optimizer-impl: 'foreach' does not exist for adam8bit; allowed: reference (example: "
            "--optimizer-impl reference)");
  EXPECT_THAT(refusal(OptimizerKind::kLion, OptimizerImpl::kFused),
              HasSubstr("'fused' does not exist for lion; allowed: reference, foreach ("));
  for (const OptimizerInfo& info : optimizers()) {
    for (const OptimizerImpl impl : info.implementations) EXPECT_EQ(refusal(info.kind, impl), "");
  }
}

TEST(Spec, Bf16WeightsGoWithNoAutocastAndMastersWithNothingElse) {
  const auto refusal = [](const RunSpec& spec) -> std::string {
    try {
      validate(spec);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  constexpr auto kBf16 = WeightType::kBf16;
  constexpr auto kMaster = MasterCopy::kFp32;
  constexpr auto kByChance = Rounding::kStochastic;
  EXPECT_EQ(refusal({.weights = kBf16}), "");
  EXPECT_EQ(refusal({.weights = kBf16, .master_weights = kMaster}), "");
  EXPECT_EQ(refusal({.weights = kBf16, .rounding = kByChance}), "");
  for (const Precision precision :
       {Precision::kBf16, Precision::kFp16, Precision::kTf32, Precision::kFp8}) {
    EXPECT_THAT(refusal({.precision = precision, .weights = kBf16}),
                HasSubstr("applies to FP32 weights"));
  }
  EXPECT_THAT(refusal({.master_weights = kMaster}), HasSubstr("--param-dtype fp32 needs none"));
  EXPECT_THAT(refusal({.rounding = kByChance}), HasSubstr("updates FP32 weights"));
  EXPECT_THAT(refusal({.weights = kBf16, .master_weights = kMaster, .rounding = kByChance}),
              HasSubstr("updates FP32 master weights"));
}

TEST(Spec, MicroBatchesDivideABatchThatHasABackward) {
  EXPECT_NO_THROW(
      validate({.batch_size = 6, .profile_type = Mode::kForwardBackward, .micro_batches = 3}));
  EXPECT_THROW(validate({.batch_size = 6, .profile_type = Mode::kTraining, .micro_batches = 4}),
               UsageError);
  EXPECT_THROW(validate({.batch_size = 6, .profile_type = Mode::kForwardGrad, .micro_batches = 3}),
               UsageError);
}

TEST(Spec, GradientsAreClippedForAnOptimizerAlone) {
  EXPECT_NO_THROW(validate({.profile_type = Mode::kTraining, .max_grad_norm = 1}));
  EXPECT_THROW(validate({.profile_type = Mode::kForwardBackward, .max_grad_norm = 1}), UsageError);
  EXPECT_EQ(row_name({.profile_type = Mode::kTraining, .max_grad_norm = 0.5}),
            "small_ctx512_training_fp32_max_grad_norm-0.5");
}

TEST(Spec, GradientsAreReleasedWhereNothingNeedsThemTogether) {
  const RunSpec released = {.profile_type = Mode::kTraining, .release_gradients = true};
  EXPECT_NO_THROW(validate(released));
  EXPECT_EQ(row_name(released), "small_ctx512_training_fp32_release_gradients");
  EXPECT_TRUE(to_json(released)["release_gradients"].is_boolean());
  std::vector<RunSpec> contradictions(4, released);
  contradictions[0].profile_type = Mode::kForwardBackward;
  contradictions[1].micro_batches = 2;
  contradictions[2].max_grad_norm = 1;
  contradictions[3].precision = Precision::kFp16;
  for (const RunSpec& spec : contradictions) EXPECT_THROW(validate(spec), UsageError);
}

TEST(Spec, TheHostUpdatesWhatItCan) {
  const RunSpec offloaded = {.profile_type = Mode::kTraining,
                             .optimizer_offload = parse_offload("--optimizer-offload", "cpu")};
  EXPECT_NO_THROW(validate(offloaded));
  EXPECT_EQ(row_name(offloaded), "small_ctx512_training_fp32_optimizer_offload-cpu");
  RunSpec added_up = offloaded;
  added_up.batch_size = added_up.micro_batches = 2;
  added_up.max_grad_norm = 1;
  added_up.precision = Precision::kFp16;
  EXPECT_NO_THROW(validate(added_up)) << "sums, norms and the scale are the host's";
  std::vector<RunSpec> contradictions(6, offloaded);
  contradictions[0].profile_type = Mode::kForwardBackward;
  contradictions[1].precision = Precision::kFp16;  // files to continue from lack the scale
  contradictions[1].optimizer_offload = parse_offload("--optimizer-offload", "nvme:/tmp");
  contradictions[2].release_gradients = true;
  contradictions[3].optimizer = OptimizerKind::kLion;
  contradictions[4].optimizer_impl = OptimizerImpl::kFused;
  contradictions[5].weights = WeightType::kBf16;
  for (const RunSpec& spec : contradictions) EXPECT_THROW(validate(spec), UsageError);
  contradictions[5].master_weights = MasterCopy::kFp32;
  EXPECT_NO_THROW(validate(contradictions[5]));
}

TEST(Spec, WeightsOnTheHostAreUpdatedThereOrNotAtAll) {
  RunSpec offloaded = {.profile_type = Mode::kForwardBackward,
                       .param_offload = parse_offload("--param-offload", "cpu")};
  for (const Mode mode : {Mode::kForward, Mode::kForwardGrad, Mode::kForwardBackward}) {
    offloaded.profile_type = mode;
    EXPECT_NO_THROW(validate(offloaded)) << to_string(mode);
  }
  EXPECT_EQ(row_name(offloaded), "small_ctx512_forward-backward_fp32_param_offload-cpu");
  offloaded.profile_type = Mode::kTraining;
  EXPECT_THROW(validate(offloaded), UsageError);
  offloaded.optimizer_offload = offloaded.param_offload;
  EXPECT_NO_THROW(validate(offloaded));
}

TEST(Spec, RowNamesTellResultsApart) {
  EXPECT_EQ(row_name(RunSpec{}), "small_ctx512_forward_fp32");
  EXPECT_EQ(row_name(RunSpec{.batch_size = 2, .profile_type = Mode::kTraining}),
            "small_ctx512_training_fp32_batch_size-2");
  RunSpec bf16{.profile_type = Mode::kTraining, .weights = WeightType::kBf16};
  EXPECT_EQ(row_name(bf16), "small_ctx512_training_bf16-pure") << "not fp32: nothing of it is";
  bf16.rounding = Rounding::kStochastic;
  EXPECT_EQ(row_name(bf16), "small_ctx512_training_bf16-pure_rounding-stochastic");
  bf16.rounding = Rounding::kNearest;
  bf16.master_weights = MasterCopy::kFp32;
  EXPECT_EQ(row_name(bf16), "small_ctx512_training_bf16-mixed");
  // Output files do not change a result's name.
  EXPECT_EQ(row_name(RunSpec{.snapshot = "x.pickle"}), row_name(RunSpec{}));
}

}  // namespace
}  // namespace headroom
