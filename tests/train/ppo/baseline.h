// The tensors of tests/baselines/ppo/, computed by make_ppo.py there and by TRL.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "model/torch.h"
#include "train/data/safetensors.h"

namespace headroom {

using Baseline = std::map<std::string, torch::Tensor>;

// Inputs, and make_ppo.py's results; if `name` is "trl", TRL's results replace them under the same
// names, where TRL has them. Scalars have shape (1).
inline Baseline read_baseline(const std::string& name) {
  Baseline tensors;
  for (const std::string& part : {std::string("ppo"), name}) {
    const SafetensorsFile file(HEADROOM_BASELINES "/ppo/" + part + ".safetensors");
    for (const auto& [key, entry] : file.entries()) {
      const auto at = torch::from_blob(const_cast<void*>(entry.data), entry.shape, torch::kFloat32);
      tensors[key] = at.clone();
    }
  }
  return tensors;
}

// A test for each of the two baselines.
class AgainstBaseline : public testing::TestWithParam<const char*> {
 protected:
  const Baseline of = read_baseline(GetParam());
};

// The settings of make_ppo.py.
constexpr double kTemperature = 0.8;
constexpr double kKlCoef = 0.07;
constexpr double kGamma = 0.98;
constexpr double kLambda = 0.9;
constexpr double kClip = 0.2;
constexpr double kValueClip = 0.3;
constexpr double kEntropyCoef = 0.02;
constexpr int64_t kGroup = 3;
constexpr int64_t kLongestAllowed = 9;
constexpr double kTolerance = 1e-5;

inline torch::Tensor mask_of(const Baseline& baseline) {
  return torch::arange(baseline.at("tokens").size(1)) < baseline.at("lengths").unsqueeze(-1);
}

// Fills the places without a token, which must not matter.
inline torch::Tensor outside_as(const torch::Tensor& values, const torch::Tensor& mask,
                                double value) {
  return values.masked_fill(~mask, value);
}

}  // namespace headroom
