// The C++ model and step against an independent implementation: see baselines/make_baselines.py.
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "model/torch.h"
#include "train/build.h"
#include "train/data/safetensors.h"
#include "train/techniques/precision.h"

namespace headroom {
namespace {

using torch::Tensor;

const std::string kFolder = HEADROOM_BASELINES "/";
constexpr double kFp32Tolerance = 1e-5;
constexpr double kBf16Tolerance = 1e-2;

nlohmann::json document() {
  return nlohmann::json::parse(std::ifstream(kFolder + "baselines.json"));
}

RunSpec spec_of(const std::string& name) {
  const auto json = document();
  for (const auto& item : json.at("cases")) {
    const auto& shape = item.at("shape");
    if (shape.at("name") != name) continue;
    return {.model_size = "custom",
            .d_model = shape.at("d_model"),
            .d_ff = shape.at("d_ff"),
            .layers = shape.at("layers"),
            .heads = shape.at("heads"),
            .kv_heads = shape.at("kv_heads"),
            .vocab_size = shape.at("vocab_size"),
            .head_dim = shape.at("head_width"),
            .tied_embeddings = shape.at("tied_embeddings"),
            .qkv_bias = shape.at("qkv_bias"),
            .qk_norm = shape.at("qk_norm"),
            .context_length = shape.at("context_length"),
            .batch_size = shape.at("batch_size"),
            .profile_type = Mode::kTraining,
            .learning_rate = json.at("optimizer").at("learning_rate"),
            .weight_decay = json.at("optimizer").at("weight_decay"),
            .device = parse_device("cpu"),
            .load_weights = kFolder + item.at("weights_file").get<std::string>()};
  }
  throw std::runtime_error("no case " + name);
}

std::map<std::string, Tensor> expected_of(const std::string& name) {
  const SafetensorsFile file(kFolder + name + "_expected.safetensors");
  const std::map<std::string, at::ScalarType> dtypes = {
      {"F32", at::kFloat}, {"F64", at::kDouble}, {"I64", at::kLong}};
  std::map<std::string, Tensor> tensors;
  for (const auto& [key, entry] : file.entries()) {
    tensors[key] =
        torch::from_blob(const_cast<void*>(entry.data), entry.shape, dtypes.at(entry.dtype))
            .clone();
  }
  return tensors;
}

// Largest difference over the largest expected value.
double error_of(const Tensor& value, const Tensor& expected) {
  EXPECT_EQ(value.sizes(), expected.sizes());
  const Tensor difference = (value.to(torch::kDouble) - expected.to(torch::kDouble)).abs().max();
  const double error = (difference / expected.to(torch::kDouble).abs().max()).item<double>();
  return std::isfinite(error) ? error : INFINITY;
}

std::unique_ptr<Step> step_of(const RunSpec& spec) {
  std::vector<std::string> notes;
  auto step = build_step(spec, torch::kCPU, &notes);
  EXPECT_TRUE(notes.empty());
  return step;
}

Tensor losses_of(Step& step, const Batch& batch) {
  std::vector<double> losses;
  for (int i = 0; i < 10; ++i) losses.push_back(step.run(batch).item<double>());
  return torch::tensor(losses, torch::kDouble);
}

struct Parameters {
  const char* name;
  Attention attention;
};

class Baseline : public testing::TestWithParam<Parameters> {
 protected:
  Baseline() : spec_(spec_of(GetParam().name)), expected_(expected_of(GetParam().name)) {
    spec_.attention = GetParam().attention;
    batch_ = {expected_.at("tokens"), expected_.at("targets")};
  }
  RunSpec spec_;
  std::map<std::string, Tensor> expected_;
  Batch batch_;
};

TEST_P(Baseline, LogitsAreThoseOfTheReference) {
  const auto step = step_of(spec_);
  const Tensor logits_BSV = step->model()->forward(batch_.tokens_BS);
  EXPECT_LE(error_of(logits_BSV, expected_.at("logits")), kFp32Tolerance);
}

TEST_P(Baseline, EveryGradientOfAStepIsThatOfTheReference) {
  spec_.profile_type = Mode::kForwardBackward;
  const auto step = step_of(spec_);
  // The step frees its gradients, so hooks collect them.
  std::map<std::string, Tensor> gradients;
  for (const auto& item : step->model()->named_parameters()) {
    item.value().register_hook(
        [&gradients, name = item.key()](Tensor gradient) { gradients[name] = gradient.clone(); });
  }
  step->run(batch_);
  size_t compared = 0;
  for (const auto& [key, tensor] : expected_) {
    if (!key.starts_with("gradients.")) continue;
    const std::string name = key.substr(std::string("gradients.").size());
    ASSERT_TRUE(gradients.contains(name)) << name;
    EXPECT_LE(error_of(gradients.at(name), tensor), kFp32Tolerance) << name;
    ++compared;
  }
  EXPECT_EQ(compared, gradients.size());
}

TEST_P(Baseline, TenLossesAreThoseOfTheReferenceWithEveryOptimizerImplementation) {
  for (const OptimizerImpl impl :
       {OptimizerImpl::kReference, OptimizerImpl::kForeach, OptimizerImpl::kFused}) {
    spec_.optimizer_impl = impl;
    const Tensor losses = losses_of(*step_of(spec_), batch_);
    EXPECT_LE(error_of(losses, expected_.at("losses")), kFp32Tolerance) << to_string(impl);
    EXPECT_LT(losses[9].item<double>(), 0.8 * losses[0].item<double>());
  }
}

TEST_P(Baseline, Bf16LogitsAndLossesAreNearThoseOfTheReference) {
  spec_.precision = Precision::kBf16;
  const auto step = step_of(spec_);
  {
    const AutocastGuard autocast(Precision::kBf16, torch::kCPU);
    const Tensor logits_BSV = step->model()->forward(batch_.tokens_BS);
    EXPECT_EQ(logits_BSV.scalar_type(), torch::kBFloat16);
    EXPECT_LE(error_of(logits_BSV, expected_.at("bf16.logits")), kBf16Tolerance);
  }
  EXPECT_LE(error_of(losses_of(*step, batch_), expected_.at("bf16.losses")), kBf16Tolerance);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, Baseline,
    testing::Values(Parameters{"tiny", Attention::kEager}, Parameters{"tiny", Attention::kSdpa},
                    Parameters{"tiny", Attention::kMath}, Parameters{"tiny", Attention::kFlash},
                    Parameters{"tiny_gqa", Attention::kEager},
                    Parameters{"tiny_gqa", Attention::kSdpa},
                    Parameters{"tiny_gqa", Attention::kMath},
                    Parameters{"tiny_besides", Attention::kEager},
                    Parameters{"tiny_besides", Attention::kSdpa}),
    [](const auto& info) {
      return std::string(info.param.name) + "_" + to_string(info.param.attention);
    });

// The baselines' inputs are of order one, where a wrong epsilon hides below the tolerance.
TEST(RmsNorm, EpsilonIsAddedToTheMeanSquareAndShowsOnSmallInputs) {
  RmsNorm norm(8, document().at("norm_eps").get<double>(), torch::TensorOptions());
  EXPECT_EQ(named_configs().front().norm_eps, document().at("norm_eps").get<double>());
  const Tensor x = torch::full({1, 1, 8}, 1e-3F);
  const double expected = 1e-3 / std::sqrt(1e-6 + 1e-5);
  EXPECT_LE(error_of(norm.forward(x), torch::full({1, 1, 8}, expected, torch::kDouble)),
            kFp32Tolerance);
}

}  // namespace
}  // namespace headroom
