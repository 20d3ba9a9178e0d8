// Iterations of PPO and GRPO on a card, with techniques in their roles. Run on a virtual card,
// which has no values. Checks that all calls that a card needs are made, that no branch depends on
// a value, and that each iteration leaves the same bytes on the card. Prints one line per setting;
// exits 1 if one fails.
#include <cstdio>
#include <functional>

#include "tests/train/support/tiny_spec.h"
#include "tests/virtual_gpu/programs/on_card/on_card.h"
#include "train/ppo/iteration.h"

namespace headroom {
namespace {

const torch::Device kCard(torch::kCUDA, 0);

RunSpec role_on_card() {
  RunSpec spec = tiny_spec();
  spec.device = parse_device("cuda");
  spec.optimizer_impl = OptimizerImpl::kFused;
  spec.max_grad_norm = 1;
  return spec;
}

Roles roles_of(const PpoSpec& ppo, const RunSpec& spec) {
  std::vector<std::string> notes;
  Roles roles;
  roles.actor = build_role(Role::kActor, spec, kCard, &notes);
  roles.reference = build_role(Role::kReference, spec, kCard, &notes);
  roles.reward = build_role(Role::kReward, spec, kCard, &notes);
  if (ppo.algorithm == PpoAlgorithm::kPpo) {
    roles.critic = build_role(Role::kCritic, spec, kCard, &notes);
  }
  return roles;
}

bool leaves_what_was_left(const char* name, const PpoSpec& ppo, const RunSpec& spec) {
  Roles roles = roles_of(ppo, spec);
  const ModelConfig config = model_config(spec);
  const Generate generate = generate_with_cache(
      {.layers = config.layers, .kv_heads = config.kv_heads, .head_dim = config.head_dim()});
  const Prompts prompts = {
      torch::zeros({ppo.prompts, 5}, torch::device(kCard).dtype(torch::kInt64)),
      std::vector<int64_t>(static_cast<size_t>(ppo.prompts), 5)};
  std::vector<int64_t> left;
  for (int64_t i = 0; i < 3; ++i) {
    run_iteration(ppo, roles, prompts, i, generate);
    left.push_back(live_bytes_of_card());
  }
  std::printf("%s: %s\n", name, left[1] == left[2] ? "ok" : "grows");
  return left[1] == left[2];
}

}  // namespace

int check_ppo() {
  const PpoSpec ppo = {
      .prompts = 6, .response_length = 7, .minibatches = 2, .max_tokens_per_micro_batch = 24};
  PpoSpec grpo = ppo;
  grpo.algorithm = PpoAlgorithm::kGrpo;
  grpo.group_size = 3;
  bool ok = leaves_what_was_left("ppo", ppo, role_on_card());
  ok = leaves_what_was_left("grpo", grpo, role_on_card()) && ok;
  const std::vector<std::pair<const char*, std::function<void(RunSpec&)>>> settings = {
      {"bf16", [](RunSpec& spec) { spec.precision = Precision::kBf16; }},
      {"fp16", [](RunSpec& spec) { spec.precision = Precision::kFp16; }},
      {"bf16 weights", [](RunSpec& spec) { spec.weights = WeightType::kBf16; }},
      {"sdpa", [](RunSpec& spec) { spec.attention = Attention::kSdpa; }},
      {"checkpoint", [](RunSpec& spec) { find_field("checkpoint")->set(spec, "full"); }},
      {"activations on the host",
       [](RunSpec& spec) { find_field("activations")->set(spec, "offload:min=1B"); }},
      {"parameters and optimizer on the host", [](RunSpec& spec) {
         spec.optimizer_impl = OptimizerImpl::kReference;
         find_field("param_offload")->set(spec, "cpu");
         find_field("optimizer_offload")->set(spec, "cpu");
       }}};
  for (const auto& [name, apply] : settings) {
    RunSpec spec = role_on_card();
    apply(spec);
    ok = leaves_what_was_left(name, ppo, spec) && ok;
  }
  return ok ? 0 : 1;
}

}  // namespace headroom
