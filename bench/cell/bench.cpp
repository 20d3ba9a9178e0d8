#include "bench/cell/bench.h"

#include <algorithm>
#include <utility>

#include "bench/cell/machine/build_revision.h"
#include "model/torch.h"
#include "train/build.h"
#include "train/offload/states/offloaded_optimizer.h"
#include "train/resume/load_checkpoint.h"

namespace headroom {
namespace {

// The build comes first: another build may run the same settings differently.
std::vector<AgreedSetting> said_with_build(const RunSpec& spec) {
  std::vector<AgreedSetting> said = {
      {"the build", build_revision() + " (" + build_settings() + ")"}, {"libtorch", TORCH_VERSION}};
  for (AgreedSetting& one : said_by(spec)) said.push_back(std::move(one));
  return said;
}

}  // namespace

void Bench::build(std::vector<std::string>* notes) {
  if (spec.mesh.ranks() > 1) {
    during = "meeting the other ranks";
    warnings = std::make_unique<RankWarnings>();
    device_mesh =
        std::make_unique<DeviceMesh>(spec.mesh, launched(spec.mesh), device, rank_patience(),
                                     said_with_build(spec), spec.shard_group);
  }
  during = "building the model";
  step = build_step(spec, device, notes, device_mesh.get());
  if (!spec.load_checkpoint.empty()) {
    during = "reading the checkpoint";
    next_step = load_checkpoint(*step, spec, device_mesh.get(), notes);
  }
  if (!spec.save_checkpoint.empty())
    saver = std::make_unique<CheckpointSaver>(spec, device_mesh.get());
  during = "reading the tokens";
  // A run that continues from another run's states also continues in its data.
  const HostStates* states = step->update->host_states();
  if (states != nullptr) next_step = std::max<int64_t>(states->steps_done(), 0);
  const int64_t steps = next_step + all_steps(spec);
  data = std::make_unique<Data>(spec, model_config(spec).vocab_size, device, steps,
                                device_mesh ? device_mesh->place(MeshAxis::kData) : 0);
  progress.steps = steps;
}

Batch Bench::begin_step(const char* what, int64_t index) {
  tell(what);
  during = std::string(what) + " step " + std::to_string(index + 1);
  return data->batch(next_step++);
}

void Bench::save() {
  during = "saving the checkpoint of step " + std::to_string(next_step);
  tell("saving", /*is_step=*/false);
  saver->save(*step, next_step);
}

void Bench::end_step() {
  if (saver && saver->is_due(next_step)) save();
}

void Bench::end_run() {
  if (saver && saver->last() != next_step) save();
}

void Bench::tell(const char* stage, bool is_step) {
  using Clock = std::chrono::steady_clock;
  constexpr auto kOften = std::chrono::milliseconds(200);
  if (!on_progress) return;
  const bool is_new = progress.stage != stage;
  if (!is_new && Clock::now() - told < kOften) return;
  progress.stage = stage;
  progress.step = is_step ? next_step + 1 : 0;
  on_progress(progress);
  told = Clock::now();
}

}  // namespace headroom
