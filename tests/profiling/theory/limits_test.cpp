// The bounds of train/settings/limits.h against theory's sums.
#include "train/settings/limits.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profiling/theory/activations/forward.h"
#include "profiling/theory/activations/layers/attention_kernel.h"
#include "profiling/theory/rows.h"
#include "text/quantity.h"

namespace headroom {
namespace {

void expect_bounded(const RunSpec& spec) {
  const std::vector<Row> rows = theory_rows(spec);
  const SumBounds bounds = sum_bounds(spec);
  const auto layers = static_cast<double>(model_config(spec).layers);
  double states = 0;
  for (const char* group : {kParameters, kGradients, kOptimizerState, kOptimizerNextState,
                            kOptimizerTemporaries, kCastCache, kLossScaler}) {
    states += static_cast<double>(total(rows, group));
  }
  EXPECT_LT(states, bounds.states) << to_json(spec).dump();
  const auto activations = static_cast<double>(activation_bytes(rows)) +
                           static_cast<double>(total(rows, kTables) + total(rows, kInputs)) +
                           static_cast<double>(forward_temporaries(spec));
  EXPECT_LT(activations, bounds.activations) << to_json(spec).dump();
  // A hook's tensors include weights.
  EXPECT_LT(layers * static_cast<double>(hook_tally(rows, kBlock).bytes),
            bounds.activations + bounds.states)
      << to_json(spec).dump();
}

TEST(Limits, NoSumOfTheoryIsBeyondItsBound) {
  for (const ModelConfig& config : named_configs()) {
    for (const Field* axis :
         {find_field("profile_type"), find_field("precision"), find_field("attention"),
          find_field("optimizer"), find_field("optimizer_impl")}) {
      for (const std::string& choice : axis->choices) {
        for (const std::string device : {"cpu", "cuda"}) {
          for (const int64_t context : {1, 512, 131072}) {
            RunSpec spec{.model_size = config.name,
                         .context_length = context,
                         .batch_size = 1,
                         .profile_type = Mode::kTraining};
            find_field("device")->set(spec, device);
            axis->set(spec, choice);
            if (attention_refusal(spec).empty()) expect_bounded(spec);
          }
        }
      }
    }
  }
}

TEST(Limits, NorForShapesThatAreAllOfOneDimension) {
  const RunSpec tiny{.model_size = "custom",
                     .d_model = 2,
                     .d_ff = 1,
                     .layers = 1,
                     .heads = 1,
                     .vocab_size = 1,
                     .context_length = 1,
                     .batch_size = 1,
                     .profile_type = Mode::kTraining};
  for (const char* name :
       {"d_model", "d_ff", "layers", "heads", "vocab_size", "context_length", "batch_size"}) {
    RunSpec spec = tiny;
    if (std::string(name) == "heads") spec.d_model = 8192;
    find_field(name)->set(spec, "4096");
    expect_bounded(spec);
  }
}

// Without check_computable() theory must not return negative bytes.
TEST(Limits, ASumThatDoesNotFitIsRefusedNotPrinted) {
  const RunSpec spec{.model_size = "405b",
                     .context_length = 1 << 24,
                     .batch_size = 1 << 24,
                     .profile_type = Mode::kTraining};
  EXPECT_THROW(check_computable(spec), UsageError);
  EXPECT_THROW(activation_bytes(theory_rows(spec)), UsageError);
  EXPECT_THROW(forward_temporaries(spec), UsageError);
}

}  // namespace
}  // namespace headroom
