#include "train/ppo/setup/card_rules.h"

#include <algorithm>
#include <cmath>

#include "model/parameter_table.h"
#include "text/quantity.h"
#include "train/generate/rules.h"
#include "train/ppo/setup/role_rules.h"

namespace headroom {
namespace {

constexpr const char* kShare = "--gpu-memory-utilization";

// An example set-up in which this role fits if the actor does.
std::string example_without(Role role) {
  switch (role) {
    case Role::kActor:
      return "--model-size small";
    case Role::kCritic:
      return "--critic-size actor";
    case Role::kReward:
      return "--reward-size none";
    case Role::kReference:
      return "--reference offload";
  }
  return "";
}

std::string size_flag(Role role) {
  switch (role) {
    case Role::kCritic:
      return "--critic-size";
    case Role::kReward:
      return "--reward-size";
    default:
      return "--model-size";
  }
}

std::string two_decimals_up(double share) {
  return number_text(std::ceil(share * 100 - 1e-9) / 100, 2);
}

// A role's weights on the card while it computes: all, or those outside the blocks if blocks are
// offloaded.
int64_t weight_bytes(const RunSpec& shared, const PpoSetup& setup, Role role) {
  const RunSpec spec = spec_of_role(shared, setup, role);
  ModelConfig config = model_config(spec);
  if (gives_values(role)) config.outputs = 1;
  const int64_t all = parameter_count(config);
  if (spec.param_offload.any()) config.layers = 0;
  const int64_t numbers = spec.param_offload.any() ? parameter_count(config) : all;
  return numbers * (spec.weights == WeightType::kBf16 ? 2 : 4);
}

void check_weights_fit(const RunSpec& shared, const PpoSetup& setup, const CardBytes& card) {
  const int64_t room = card.total - card.context;
  for (const Role role : roles_of(setup)) {
    const int64_t bytes = weight_bytes(shared, setup, role);
    if (bytes <= room) continue;
    throw UsageError(size_flag(role), spec_of_role(shared, setup, role).model_size,
                     "gives the " + word_of(role) + " " + format_bytes(bytes) +
                         " of weights, and the card has room for " + format_bytes(room) +
                         "; allowed: a smaller one, or --" + word_of(role) + "-param-offload cpu",
                     example_without(role));
  }
}

int64_t tokens_of_share(const RunSpec& shared, const PpoSetup& setup, const CardBytes& card) {
  const double share = setup.gpu_memory_utilization;
  RunSpec spec = as_generation(spec_of_role(shared, setup, Role::kActor));
  spec.kv_cache_tokens = 0;
  const KvCacheShape shape = kv_cache_shape(spec);
  const int64_t token_bytes = shape.bytes() / shape.slots();
  const int64_t one = shape.form == KvCacheForm::kPaged
                          ? shape.blocks_of_a_sequence() * kKvCacheBlock
                          : shape.tokens;
  const int64_t weights = weight_bytes(shared, setup, Role::kActor);
  const auto of_share = static_cast<int64_t>(share * static_cast<double>(card.total));
  const int64_t left = of_share - card.context - weights;
  if (left >= one * token_bytes) return std::min(left / token_bytes, shape.slots());
  const double least = static_cast<double>(card.context + weights + one * token_bytes) /
                       static_cast<double>(card.total);
  const bool fits = least <= 1;
  throw UsageError(kShare, number_text(share, 2),
                   "is " + format_bytes(of_share) + " for " + format_bytes(weights) +
                       " of weights, " + format_bytes(card.context) + " of context and " +
                       format_bytes(one * token_bytes) + " of cache for one sequence; allowed: " +
                       (fits ? two_decimals_up(least) + " to 1" : "on a larger card"),
                   fits ? kShare + (" " + two_decimals_up(least)) : "--model-size small");
}

}  // namespace

void settle_on(const CardBytes& card, RunSpec& shared, const PpoSetup& setup) {
  check_weights_fit(shared, setup, card);
  if (setup.gpu_memory_utilization == 0) return;
  shared.kv_cache_tokens = tokens_of_share(shared, setup, card);
}

}  // namespace headroom
