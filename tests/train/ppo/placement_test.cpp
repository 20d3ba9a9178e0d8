#include "train/ppo/phases/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "tests/train/ppo/tiny_roles.h"
#include "tests/train/support/heard.h"
#include "train/hooks/listening.h"
#include "train/ppo/phases/phase_names.h"

namespace headroom {
namespace {

using torch::Tensor;

PpoSpec ppo_to_place() {
  return {.prompts = 4, .response_length = 5, .epochs = 2, .minibatches = 2};
}

Roles all_roles(const PpoSpec& ppo, const RunSpec& spec) {
  Roles roles = tiny_roles(ppo, spec);
  std::vector<std::string> notes;
  roles.reward = build_role(Role::kReward, spec, torch::kCPU, &notes);
  return roles;
}

std::map<Role, Step*> steps_of(const Roles& roles) {
  std::map<Role, Step*> steps = {{Role::kActor, roles.actor.get()},
                                 {Role::kReward, roles.reward.get()},
                                 {Role::kReference, roles.reference.get()}};
  if (roles.critic) steps[Role::kCritic] = roles.critic.get();
  return steps;
}

std::unique_ptr<Placement> placement_of(const Roles& roles) {
  auto placement = std::make_unique<Placement>(torch::kCPU);
  for (const auto& [role, step] : steps_of(roles)) placement->add(role, *step);
  return placement;
}

std::vector<Tensor> states_of(Step& step) {
  std::vector<Tensor> all;
  if (step.update->host_states() == nullptr) {
    all = step.update->master_weights();
    for (Tensor& tensor : step.update->state()) all.push_back(std::move(tensor));
  }
  return all;
}

// True if all have memory; checks that otherwise none has.
bool are_there(const std::vector<Tensor>& tensors) {
  const bool there = tensors.front().storage().data() != nullptr;
  for (const Tensor& tensor : tensors) EXPECT_EQ(tensor.storage().data() != nullptr, there);
  return there;
}

int64_t bytes_of_all(const std::vector<Tensor>& tensors) {
  int64_t bytes = 0;
  for (const Tensor& tensor : tensors) bytes += static_cast<int64_t>(tensor.storage().nbytes());
  return bytes;
}

struct Outcome {
  std::vector<Tensor> weights;
  std::vector<double> reported;
};

Outcome run_three(const PpoSpec& ppo, const RunSpec& spec, bool swap) {
  Roles roles = all_roles(ppo, spec);
  const auto placement = swap ? placement_of(roles) : nullptr;
  IterationListener listener;
  if (swap) listener.before_phase = [&](const std::string& phase) { placement->before(phase); };
  Outcome run;
  for (int64_t i = 0; i < 3; ++i) {
    const IterationReport report = run_iteration(ppo, roles, tiny_prompts(ppo.prompts, i), i,
                                                 generate_by_full_forward, listener);
    for (const double one : {report.score, report.kl, report.reward, report.actor.loss,
                             report.actor.entropy, report.critic.loss}) {
      run.reported.push_back(one);
    }
  }
  for (const bool trained : {true, false}) {
    if (swap) placement->before(trained ? kTrainingPhase : kScoringPhase);
    for (const auto& [role, step] : steps_of(roles)) {
      if (is_trained(role) != trained) continue;
      for (const auto& item : step->weights()) run.weights.push_back(item.value().clone());
    }
  }
  return run;
}

// Every optimizer, every place of its states and every technique that a role may have.
struct PlacementCase {
  const char* name;
  std::vector<std::pair<const char*, const char*>> settings;
  PpoAlgorithm algorithm = PpoAlgorithm::kPpo;
};
void PrintTo(const PlacementCase& one, std::ostream* out) { *out << one.name; }

class SwappedIteration : public testing::TestWithParam<PlacementCase> {};

TEST_P(SwappedIteration, IsTheOneWithoutSwappingToTheBit) {
  PpoSpec ppo = ppo_to_place();
  ppo.algorithm = GetParam().algorithm;
  if (ppo.algorithm == PpoAlgorithm::kGrpo) ppo.group_size = 2;
  RunSpec spec = tiny_role();
  for (const auto& [field, value] : GetParam().settings) find_field(field)->set(spec, value);
  const Outcome still = run_three(ppo, spec, /*swap=*/false);
  const Outcome swapped = run_three(ppo, spec, /*swap=*/true);
  EXPECT_EQ(swapped.reported, still.reported);
  ASSERT_EQ(swapped.weights.size(), still.weights.size());
  for (size_t i = 0; i < still.weights.size(); ++i) {
    EXPECT_TRUE(torch::equal(swapped.weights[i], still.weights[i])) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Placement, SwappedIteration,
    testing::Values(PlacementCase{"reference", {{"optimizer_impl", "reference"}}},
                    PlacementCase{"foreach", {}},
                    PlacementCase{"fused", {{"optimizer_impl", "fused"}}},
                    PlacementCase{"adam8bit",
                                  {{"optimizer_impl", "reference"}, {"optimizer", "adam8bit"}}},
                    PlacementCase{"masters", {{"weights", "bf16"}, {"master_weights", "fp32"}}},
                    PlacementCase{"released",
                                  {{"optimizer_impl", "reference"},
                                   {"max_grad_norm", "0"},
                                   {"release_gradients", "true"}}},
                    PlacementCase{"states_on_the_host",
                                  {{"optimizer_impl", "reference"}, {"optimizer_offload", "cpu"}}},
                    PlacementCase{"all_on_the_host",
                                  {{"optimizer_impl", "reference"},
                                   {"optimizer_offload", "cpu"},
                                   {"param_offload", "cpu"},
                                   {"activations", "offload:min=1B"}}},
                    PlacementCase{"grpo", {}, PpoAlgorithm::kGrpo}),
    [](const auto& one) { return std::string(one.param.name); });

TEST(Placement, WhatAPhaseDoesNotNeedHasNoMemoryAndWhatItNeedsHas) {
  const PpoSpec ppo = ppo_to_place();
  Roles roles = all_roles(ppo, tiny_role());
  const auto placement = placement_of(roles);
  std::map<std::string, std::vector<std::string>> there;
  for (int64_t i = 0; i < 2; ++i) {
    there.clear();
    run_iteration(ppo, roles, tiny_prompts(ppo.prompts, i), i, generate_by_full_forward,
                  {.before_phase = [&](const std::string& phase) {
                    placement->before(phase);
                    for (const auto& [role, step] : steps_of(roles)) {
                      if (are_there(step->model()->parameters())) {
                        there[phase].push_back(word_of(role));
                      }
                      const std::vector<Tensor> states = states_of(*step);
                      if (!states.empty() && are_there(states)) {
                        there[phase].push_back(word_of(role) + " states");
                      }
                    }
                  }});
  }
  using testing::ElementsAre;
  EXPECT_THAT(there[kGenerationPhase], ElementsAre("actor"));
  EXPECT_THAT(there[kScoringPhase], ElementsAre("actor", "critic", "reward", "reference"));
  EXPECT_THAT(there[kTrainingPhase],
              ElementsAre("actor", "actor states", "critic", "critic states"));
}

TEST(Placement, TrafficIsTheBytesOfWhatLeavesAndComesAndWhatIsOnlyReadLeavesOnce) {
  const PpoSpec ppo = ppo_to_place();
  Roles roles = all_roles(ppo, tiny_role());
  const auto placement = placement_of(roles);
  const auto iterate = [&](int64_t number) {
    run_iteration(ppo, roles, tiny_prompts(ppo.prompts, number), number, generate_by_full_forward,
                  {.before_phase = [&](const std::string& phase) { placement->before(phase); }});
  };
  const int64_t critic = bytes_of_all(roles.critic->model()->parameters());
  const int64_t frozen = bytes_of_all(roles.reward->model()->parameters()) +
                         bytes_of_all(roles.reference->model()->parameters());
  EXPECT_EQ(placement->traffic().to_host, critic + frozen) << "when they were built";
  EXPECT_EQ(placement->traffic().to_card, 0);
  iterate(0);  // creates the optimizers' states
  iterate(1);
  const int64_t states =
      bytes_of_all(states_of(*roles.actor)) + bytes_of_all(states_of(*roles.critic));
  const HostTraffic before = placement->traffic();
  iterate(2);
  const HostTraffic made = placement->traffic() - before;
  EXPECT_EQ(made.to_host, critic + states);
  EXPECT_EQ(made.to_card, critic + states + frozen);
}

TEST(Placement, WhatComesBackIsTaggedWhereItIsNow) {
  const PpoSpec ppo = ppo_to_place();
  Roles roles = all_roles(ppo, tiny_role());
  const auto placement = placement_of(roles);
  Heard heard;
  const Listening listening(*roles.reference, &heard, &heard);
  EXPECT_TRUE(heard.tags[Category::kParameters].empty()) << "it is away";
  int64_t between = 0;
  placement->before(kScoringPhase, &heard, [&] {
    ++between;
    EXPECT_FALSE(are_there(roles.reference->model()->parameters()));
  });
  EXPECT_EQ(between, 1);
  std::vector<uint64_t> addresses;
  for (const Tensor& parameter : roles.reference->model()->parameters()) {
    addresses.push_back(reinterpret_cast<uint64_t>(parameter.storage().data()));
  }
  EXPECT_EQ(heard.tags[Category::kParameters], addresses);
  EXPECT_THAT(heard.names[Category::kOther], testing::Contains("models off the card"));
}

}  // namespace
}  // namespace headroom
