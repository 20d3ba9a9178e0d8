#include "bench/cell/ppo_run.h"

#include <ATen/Parallel.h>
#include <torch/torch.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <optional>

#include "bench/cell/device.h"
#include "bench/cell/environment.h"
#include "bench/cell/out_of_memory.h"
#include "profiling/phases.h"
#include "profiling/snapshot/write.h"
#include "profiling/step_recording.h"
#include "train/data/data.h"
#include "train/generate/rules.h"
#include "train/ppo/iteration.h"
#include "train/ppo/placement.h"

namespace headroom {
namespace {

// Of one role: what it claims has its name before it.
class RoleClaims final : public MemoryClaims {
 public:
  RoleClaims(Role role, MemoryClaims* next) : prefix_(word_of(role) + "."), next_(next) {}
  void claim(Category category, MemorySpace space, uint64_t address,
             const std::string& name) override {
    next_->claim(category, space, address, prefix_ + name);
  }

 private:
  std::string prefix_;
  MemoryClaims* next_;
};

// Everything that one run needs.
struct PpoBench {
  const RunSpec& shared;
  const PpoSetup& setup;
  torch::Device device = torch::Device(torch::kCPU);
  Memories memories = {};
  Roles roles = {};
  std::optional<Placement> placement = {};  // none: all are on the card in every phase
  std::unique_ptr<Data> data = nullptr;
  int64_t next = 0;                         // iteration
  std::string during = "the start";         // what it is at, for people
  std::string failed_in = {};               // see FailedPhase
  std::optional<OutOfMemory> refused = {};  // the last allocation that was

  std::unique_ptr<Step>& step_of(Role role) {
    if (role == Role::kActor) return roles.actor;
    if (role == Role::kCritic) return roles.critic;
    return role == Role::kReward ? roles.reward : roles.reference;
  }
};

void open_memories(PpoBench& bench, int64_t host_memory_bytes) {
  bench.memories = track_memories(bench.device, host_memory_bytes);
  for (const TrackedMemory& memory : bench.memories) {
    memory.tracker->on_refusal([&bench, &memory](const Refusal& refusal) {
      bench.refused = OutOfMemory{.memory = memory.name, .refusal = refusal};
    });
  }
  bench.memories.front().tracker->release_cached();
  bench.memories.front().tracker->reset_peak();
}

void build(PpoBench& bench, Record& record) {
  if (bench.setup.swap_phases) bench.placement.emplace(bench.device);
  for (const Role role : roles_of(bench.setup)) {
    bench.during = "building the " + word_of(role);
    const RunSpec spec = spec_of_role(bench.shared, bench.setup, role);
    bench.step_of(role) = build_role(role, spec, bench.device, &record.notes);
    if (bench.placement) bench.placement->add(role, *bench.step_of(role));
  }
  if (!bench.roles.reward) bench.roles.rule = share_of_token(bench.setup.reward_token);
  bench.during = "reading the prompts";
  RunSpec prompts = bench.shared;
  prompts.profile_type = Mode::kGenerate;
  const PpoSpec ppo = ppo_spec_of(bench.shared, bench.setup);
  prompts.batch_size = ppo.prompts;
  bench.data = std::make_unique<Data>(prompts, model_config(prompts).vocab_size, bench.device,
                                      bench.setup.iterations + 2);
}

Prompts next_prompts(PpoBench& bench) {
  Prompts prompts{.tokens_BP = bench.data->batch(bench.next).tokens_BS, .lengths = {}};
  prompts.lengths.assign(static_cast<size_t>(prompts.tokens_BP.size(0)),
                         prompt_tokens(bench.shared));
  return prompts;
}

// The roles' Steps tell the same listeners as the iteration does.
class ListeningRoles {
 public:
  ListeningRoles(PpoBench& bench, ScopeListener* scopes, MemoryClaims* claims) {
    for (const Role role : roles_of(bench.setup)) {
      Step& step = *bench.step_of(role);
      if (claims != nullptr) claims_.push_back(std::make_unique<RoleClaims>(role, claims));
      step.listen(scopes, claims != nullptr ? claims_.back().get() : nullptr);
      steps_.push_back(&step);
    }
  }
  ~ListeningRoles() {
    for (Step* step : steps_) step->listen(nullptr, nullptr);
  }
  ListeningRoles(const ListeningRoles&) = delete;
  ListeningRoles& operator=(const ListeningRoles&) = delete;

 private:
  std::vector<std::unique_ptr<RoleClaims>> claims_;
  std::vector<Step*> steps_;
};

Generation generation_of(RunSpec shared, torch::Device device) {
  shared.profile_type = Mode::kGenerate;
  return {.prefill_chunk = shared.prefill_chunk,
          .decode_graph = shared.decode_graph && device.is_cuda(),
          .sampling = {.top_k = shared.top_k, .top_p = shared.top_p},
          .cache = kv_cache_shape(shared)};
}

// What an exception in here is thrown by is no scope's; the phase it was to be is known all the
// same.
void change_phase(PpoBench& bench, const std::string& phase, MemoryClaims* claims) {
  const auto empty = [&] {
    if (bench.setup.empty_cache_between_phases) {
      bench.memories.front().tracker->release_cached();
    }
  };
  if (!bench.placement) return empty();
  try {
    bench.placement->before(phase, claims, empty);
  } catch (...) {
    bench.failed_in = phase;
    throw;
  }
}

IterationReport iterate(PpoBench& bench, const char* what, ScopeListener* scopes,
                        MemoryClaims* claims) {
  bench.during = std::string(what) + " iteration";
  const ListeningRoles listening(bench, scopes, claims);
  const Prompts prompts = next_prompts(bench);
  claim(claims, Category::kOther, prompts.tokens_BP, "prompts");
  const IterationReport report = run_iteration(
      ppo_spec_of(bench.shared, bench.setup), bench.roles, prompts, bench.next++,
      generate_with(generation_of(bench.shared, bench.device)),
      {.scopes = scopes, .claims = claims, .before_phase = [&](const std::string& phase) {
         change_phase(bench, phase, claims);
       }});
  synchronize(bench.device);
  return report;
}

void warm_up(PpoBench& bench) {
  FailedPhase phase(bench.failed_in);
  iterate(bench, "warm-up", &phase, nullptr);
  bench.memories.front().tracker->release_cached();
}

void measure(PpoBench& bench, Record& record) {
  PhasePeaks peaks({bench.memories.front().tracker.get()});
  FailedPhase phase(bench.failed_in, &peaks);
  const bool has_values = is_real(bench.device);  // else no time passes and every value is zero
  for (int64_t i = 0; i < bench.setup.iterations; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    const IterationReport report = iterate(bench, "measured", &phase, nullptr);
    const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
    if (!has_values) continue;
    record.step_ms.push_back(time.count());
    record.ppo->iterations.push_back({.score = report.score,
                                      .kl = report.kl,
                                      .reward = report.reward,
                                      .response_tokens = report.response_length});
  }
  record.peak = peaks.overall(0);
  peaks.fill_phases(record);
}

// Over the host link so far, of all roles and of who moves between phases.
HostTraffic host_traffic(PpoBench& bench) {
  HostTraffic sum;
  if (bench.placement) sum = bench.placement->traffic();
  for (const Role role : roles_of(bench.setup)) sum = sum + bench.step_of(role)->host_traffic();
  return sum;
}

// Whether the one iteration that is measured is also the one that is recorded: where no time passes
// there is none to disturb, and who listens takes nothing of the card.
bool measures_while_recording(const PpoBench& bench) {
  return !is_real(bench.device) && bench.setup.iterations == 1;
}

void record_iteration(PpoBench& bench, Record& record) {
  const RunSpec& spec = bench.shared;
  // Stacks are a snapshot's alone, and a decode of thousands of tokens has millions.
  const Stacks stacks = spec.snapshot.empty() ? Stacks::kNone : spec.stacks;
  StepRecording recording(bench.memories, {.stacks = stacks, .max_entries = spec.max_entries});
  FailedPhase phase(bench.failed_in, &recording);
  const HostTraffic before = host_traffic(bench);
  iterate(bench, "recorded", &phase, &recording);
  if (const HostTraffic made = host_traffic(bench) - before; made.any()) {
    record.host_traffic = {{"to_host", made.to_host}, {"to_card", made.to_card}};
  }
  if (measures_while_recording(bench)) {
    record.peak = recording.peaks().overall(0);
    recording.peaks().fill_phases(record);
  }
  std::vector<std::string> roles;
  for (const Role role : roles_of(bench.setup)) roles.push_back(word_of(role));
  Snapshot snapshot;
  const auto results = recording.finish(spec.snapshot.empty() ? nullptr : &snapshot, roles);
  const StepRecording::Result& main = results.front();
  record.recorded_peak = main.peak;
  record.trace_events = main.events;
  record.trace_truncated = main.truncated;
  record.categories_at_peak = main.attribution.categories;
  record.category_peaks = main.attribution.category_peaks;
  for (const PhaseBreakdown& one : main.phases) {
    record.ppo->phases.push_back({.phase = one.phase,
                                  .requested = one.peak_bytes,
                                  .components = one.components,
                                  .instants = one.instants});
  }
  for (size_t i = 1; i < bench.memories.size(); ++i) {
    SpaceFigures& space = record.spaces[bench.memories[i].name];
    space.peak = results[i].peak;
    space.phases = recording.peaks().phases(i);
  }
  if (!spec.snapshot.empty()) write_snapshot(snapshot, spec.snapshot);
}

void run_to_the_end(PpoBench& bench, const RunOptions& options, Record& record) {
  if (bench.shared.threads > 0) at::set_num_threads(static_cast<int>(bench.shared.threads));
  bench.device = resolve_device(bench.shared.device);
  record.environment = environment(bench.device);
  open_memories(bench, options.host_memory_bytes);
  record.space = bench.memories.front().space;
  build(bench, record);
  warm_up(bench);
  if (!measures_while_recording(bench)) measure(bench, record);
  record_iteration(bench, record);
  record.peak_phase = fullest_phase(record, &MemoryBytes::allocated);
  record.status = Status::kOk;
}

void describe_out_of_memory(const PpoBench& bench, const Failure& failure, Record& record) {
  OutOfMemory moment = bench.refused.value_or(OutOfMemory{});
  moment.during = bench.during;
  moment.phase = bench.failed_in;
  record.reason =
      moment.during + (moment.phase.empty() ? "" : ", " + moment.phase) + ": " + failure.reason;
  record.out_of_memory = std::make_shared<const OutOfMemory>(std::move(moment));
}

}  // namespace

Record run_ppo(const RunSpec& shared, const PpoSetup& setup, const RunOptions& options) {
  Record record;
  record.spec = shared;
  record.ppo.emplace().setup = to_json(setup);
  PpoBench bench{.shared = shared, .setup = setup};
  try {
    run_to_the_end(bench, options, record);
  } catch (const std::exception&) {
    const Failure failure = current_failure();
    record.status = failure.status;
    record.reason = failure.reason;
    if (failure.status == Status::kOom) describe_out_of_memory(bench, failure, record);
  }
  return record;
}

}  // namespace headroom
