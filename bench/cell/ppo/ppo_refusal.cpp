#include "bench/cell/ppo/ppo_refusal.h"

#include <ATen/cuda/CUDAContextLight.h>

#include <exception>

#include "bench/cell/memory/out_of_memory.h"
#include "profiling/phases.h"
#include "profiling/step_recording.h"
#include "train/ppo/phases/phase_names.h"

namespace headroom {
namespace {

// "training, actor: backward".
std::string place_of(const PpoBench& bench) {
  std::string place = bench.phase;
  if (bench.running) place += (place.empty() ? "" : ", ") + word_of(*bench.running);
  if (bench.failed_in.empty() || bench.failed_in == bench.phase) return place;
  return place + (place.empty() ? "" : ": ") + bench.failed_in;
}

// Untagged memory belongs to the running role: in a trained forward it is saved activations.
std::string with_role(const std::string& component, const PpoBench& bench) {
  const bool untagged = component == to_string(Category::kTemporaries) ||
                        component == to_string(Category::kActivations);
  if (!untagged || !bench.running) return component;
  const bool saves =
      bench.phase == kTrainingPhase && (bench.failed_in == "forward" || bench.failed_in == "loss");
  return word_of(*bench.running) + " " + (saves ? to_string(Category::kActivations) : component);
}

// In generation, outside its passes, only the KV cache is allocated: it was refused.
std::string what_grew(const std::string& component, const PpoBench& bench) {
  if (bench.failed_in == kGenerationPhase) {
    return word_of(Role::kActor) + " " + to_string(Category::kKvCache);
  }
  return with_role(component, bench);
}

void keep_finished(const std::vector<PhaseComponents>& phases, Record& record) {
  for (const PhaseComponents& one : phases) {
    if (record.phases.contains(one.phase)) record.ppo->phases.push_back(one);
  }
}

// Repeats the run until memory runs out, with every allocation recorded.
void repeat(PpoBench& bench, const RunOptions& options, OutOfMemory& moment, Record& record) {
  bench.device = resolve_device(bench.shared.device);
  if (bench.device.is_cuda()) at::cuda::clearCublasWorkspaces();  // of the first run
  bench.memories = open_memories(bench.device, options.host_memory_bytes, bench.refused);
  std::vector<std::string> notes;
  bench.build(&notes);
  StepRecording recording(bench.memories, {.stacks = Stacks::kNone});
  std::optional<StepRecording::Instant> instant;
  for (size_t i = 0; i < bench.memories.size(); ++i) {
    bench.memories[i].tracker->on_refusal([&, i](const Refusal&) {
      if (!instant) instant = recording.now(i);
    });
  }
  FailedPhase phase(bench.failed_in, &recording);
  try {
    for (int64_t i = 0; i < bench.setup.iterations + 2; ++i) {
      bench.iterate("repeated", &phase, &recording);
      if (i == 0) bench.tracker().release_cached();
    }
  } catch (const std::exception&) {
    // The expected refusal; after any other failure there is no instant.
  }
  const auto results = recording.finish(nullptr, bench.role_words(), instant);
  if (!instant) return;
  const StepRecording::Result& refused = results[instant->memory];
  moment.grew_last = what_grew(refused.grew, bench);
  for (const auto& [component, bytes] : refused.live) {
    moment.components[with_role(component, bench)] += bytes;
  }
  keep_finished(results.front().phases, record);
}

}  // namespace

OutOfMemory moment_of(const PpoBench& bench) {
  OutOfMemory moment = bench.refused.value_or(OutOfMemory{});
  moment.during = bench.during;
  moment.phase = place_of(bench);
  const std::string building = "building the ";
  if (bench.during.starts_with(building)) {
    moment.grew_last = bench.during.substr(building.size()) + " parameters";
  }
  return moment;
}

void describe_refusal(const RunSpec& shared, const PpoSetup& setup, const RunOptions& options,
                      OutOfMemory moment, Record& record) {
  if (moment.grew_last.empty() && shared.record_steps > 0) {
    PpoBench bench{.shared = shared, .setup = setup};
    try {
      repeat(bench, options, moment, record);
    } catch (const std::exception&) {
      record.notes.push_back("the owners of the live bytes are not known: " +
                             current_failure().reason);
    }
  }
  std::string where = moment.during;
  if (!moment.phase.empty()) where += ", " + moment.phase;
  if (!moment.grew_last.empty()) where += "; " + moment.grew_last + " grew last";
  record.reason = where + ": " + record.reason;
  record.out_of_memory = std::make_shared<const OutOfMemory>(std::move(moment));
}

}  // namespace headroom
