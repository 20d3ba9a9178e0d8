#include "profiling/theory/iteration.h"

#include <algorithm>

#include "cards/cublas_workspace.h"
#include "profiling/theory/compute_capability.h"
#include "profiling/theory/peak.h"
#include "profiling/theory/rehearsal/ppo/iteration.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/ppo/setup/role_rules.h"

namespace headroom {
namespace {

PhasePeak peak_of(const char* phase, const Memory& memory) {
  PhasePeak peak{.phase = phase,
                 .allocated = memory.peak(),
                 .reserved = memory.reserved_peak(),
                 .requested = memory.requested_peak(),
                 .where = memory.peak_in_words()};
  for (const Allocation& made : memory.alive_when_most_requested()) {
    const std::string owner = *made.owner == '\0' ? "" : std::string(made.owner) + " ";
    peak.components[owner + made.group] += made.bytes;
  }
  return peak;
}

void nobody_hears(const char* /*phase*/, bool /*begins*/) {}

// A warm-up, then the iteration whose phases are reported.
void rehearse(Run& run, const RunSpec& shared, const PpoSetup& setup,
              const RehearsedIteration::OnPhase& on_phase) {
  RehearsedIteration iteration(run, shared, setup);
  iteration.go(nobody_hears);
  run.memory.release_cached();
  iteration.go(on_phase);
}

}  // namespace

std::vector<std::string> not_rehearsed(const RunSpec& shared, const PpoSetup& setup) {
  std::vector<std::string> flags;
  const auto add = [&](const std::string& flag) {
    if (std::find(flags.begin(), flags.end(), flag) == flags.end()) flags.push_back(flag);
  };
  const RunSpec defaults;
  for (const char* name : {"decode_graph", "top_k", "top_p", "end_token"}) {
    const Field& field = *find_field(name);
    if (!field.same(shared, defaults)) add(field.flag());
  }
  if (setup.prompt_lengths != PromptLengths::kEven) add("--prompt-lengths");
  for (const Role role : roles_of(setup)) {
    const RunSpec spec = role_spec(role, spec_of_role(shared, setup, role));
    for (const std::string& flag : flags_not_followed(spec)) add(flag);
  }
  return flags;
}

std::vector<PhasePeak> predicted_iteration(const RunSpec& shared, const PpoSetup& setup) {
  Run run(cublas_workspace_bytes(compute_capability(shared)));
  std::vector<PhasePeak> peaks;
  rehearse(run, shared, setup, [&](const char* phase, bool begins) {
    if (begins) return run.memory.begin_peak();
    peaks.push_back(peak_of(phase, run.memory));
  });
  return peaks;
}

bool iteration_rehearsed_to_fit(const RunSpec& shared, const PpoSetup& setup, int64_t bytes) {
  Run run(cublas_workspace_bytes(compute_capability(shared)));
  run.memory.limit(bytes);
  try {
    rehearse(run, shared, setup, nobody_hears);
  } catch (const CardIsFull&) {
    return false;
  }
  return true;
}

}  // namespace headroom
