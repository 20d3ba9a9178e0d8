#include "bench/cell/ppo/ppo_bench.h"

#include <ATen/cuda/CUDAContext.h>

#include "bench/cell/memory/dry_run_names.h"
#include "profiling/phases.h"
#include "train/generate/rules.h"
#include "train/ppo/setup/card_rules.h"

namespace headroom {
namespace {

// Prefixes a role's tags with its name.
class RoleTags final : public MemoryTags {
 public:
  RoleTags(Role role, MemoryTags* next) : prefix_(word_of(role) + "."), next_(next) {}
  void tag(Category category, MemorySpace space, uint64_t address,
           const std::string& name) override {
    next_->tag(category, space, address, prefix_ + name);
  }

 private:
  std::string prefix_;
  MemoryTags* next_;
};

// Records the running role.
class RoleScopes final : public ScopeListener {
 public:
  RoleScopes(Role role, std::optional<Role>& running, ScopeListener* next)
      : role_(role), running_(running), next_(next) {}
  void on_scope(const Scope& scope, bool begins) override {
    if (begins) running_ = role_;
    if (next_ != nullptr) next_->on_scope(scope, begins);
  }

 private:
  Role role_;
  std::optional<Role>& running_;
  ScopeListener* next_;
};

// Attaches the iteration's listeners to the roles' Steps.
class ListeningRoles {
 public:
  ListeningRoles(PpoBench& bench, ScopeListener* scopes, MemoryTags* tags) {
    for (const Role role : roles_of(bench.setup)) {
      Step& step = *bench.roles.step_of(role);
      if (tags != nullptr) tags_.push_back(std::make_unique<RoleTags>(role, tags));
      scopes_.push_back(std::make_unique<RoleScopes>(role, bench.running, scopes));
      step.listen(scopes_.back().get(), tags != nullptr ? tags_.back().get() : nullptr);
      steps_.push_back(&step);
    }
  }
  ~ListeningRoles() {
    for (Step* step : steps_) step->listen(nullptr, nullptr);
  }
  ListeningRoles(const ListeningRoles&) = delete;
  ListeningRoles& operator=(const ListeningRoles&) = delete;

  void listen_again() {
    for (Step* step : steps_) step->listen(step->scopes(), step->tags());
  }

 private:
  std::vector<std::unique_ptr<RoleTags>> tags_;
  std::vector<std::unique_ptr<RoleScopes>> scopes_;
  std::vector<Step*> steps_;
};

// For a real card, which only this process can query. For a virtual one the launcher does it
// (settle_on_card).
void settle_on_real_card(const PpoSetup& setup, torch::Device device, RunSpec& shared) {
  if (!device.is_cuda() || is_virtual(shared)) return;
  const size_t bytes = at::cuda::getDeviceProperties(device.index())->totalGlobalMem;
  settle_on({.total = static_cast<int64_t>(bytes)}, shared, setup);
}

Generation rollout_generation(RunSpec shared, torch::Device device) {
  shared.profile_type = Mode::kGenerate;
  return {.decodes_run = decodes_run(shared),
          .prefill_chunk = shared.prefill_chunk,
          .decode_graph = shared.decode_graph && device.is_cuda(),
          .sampling = {.top_k = shared.top_k, .top_p = shared.top_p},
          .cache = kv_cache_shape(shared)};
}

}  // namespace

std::vector<std::string> PpoBench::role_words() const {
  std::vector<std::string> words;
  for (const Role role : roles_of(setup)) words.push_back(word_of(role));
  return words;
}

Traffic PpoBench::traffic() {
  Traffic sum;
  if (placement) sum.link = placement->traffic();
  for (const Role role : roles_of(setup)) sum = sum + traffic_of(*roles.step_of(role));
  return sum;
}

void PpoBench::build(std::vector<std::string>* notes) {
  settle_on_real_card(setup, device, shared);
  if (setup.swap_phases) placement.emplace(device);
  for (const Role role : roles_of(setup)) {
    during = "building the " + word_of(role);
    roles.step_of(role) = build_role(role, spec_of_role(shared, setup, role), device, notes);
    if (placement) placement->add(role, *roles.step_of(role));
  }
  if (!roles.reward) roles.rule = share_of_token(setup.reward_token);
  during = "reading the prompts";
  RunSpec prompts = shared;
  prompts.profile_type = Mode::kGenerate;
  prompts.batch_size = ppo_spec_of(shared, setup).prompts;
  data = std::make_unique<Data>(prompts, model_config(prompts).vocab_size, device,
                                setup.iterations + 2);
}

Prompts PpoBench::next_prompts() {
  Prompts prompts{.tokens_BP = data->batch(next).tokens_BS, .lengths = {}};
  // Every iteration has the same lengths, so that it can reuse the previous one's memory.
  prompts.lengths = prompt_lengths(setup.prompt_lengths, prompts.tokens_BP.size(0),
                                   prompt_tokens(shared), shared.seed);
  return prompts;
}

// A failure in here is in no scope; `phase` already names the coming phase.
void PpoBench::change_phase(const std::string& to, MemoryTags* tags) {
  phase = to;
  running.reset();
  const auto empty = [&] {
    if (setup.empty_cache_between_phases) tracker().release_cached();
  };
  if (!placement) return empty();
  placement->before(to, tags, empty);
}

IterationReport PpoBench::iterate(const char* what, ScopeListener* scopes, MemoryTags* tags) {
  during = std::string(what) + " iteration";
  DryRunNames names(to_string(shared.optimizer), scopes, tags);
  scopes = names.scopes();
  tags = names.tags();
  ListeningRoles listening(*this, scopes, tags);
  const Prompts prompts = next_prompts();
  tag(tags, Category::kOther, prompts.tokens_BP, "prompts");
  const Generation generation = rollout_generation(shared, device);
  IterationReport report;
  try {
    report =
        run_iteration(ppo_spec_of(shared, setup), roles, prompts, next++, generate_with(generation),
                      {.scopes = scopes, .tags = tags, .before_phase = [&](const std::string& to) {
                         change_phase(to, tags);
                       }});
  } catch (...) {
    listening.listen_again();
    throw;
  }
  synchronize(device);
  phase.clear();
  return report;
}

}  // namespace headroom
