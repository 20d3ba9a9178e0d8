// Generation with a step's model, and as its schedule.
#pragma once

#include "train/build_request.h"
#include "train/generate/generator.h"
#include "train/schedule/schedule.h"
#include "train/settings/spec.h"

namespace headroom {

class Step;

// The settings of a generating run.
Generation generation_of(const RunSpec& spec, torch::Device device);

// Generates tokens after prompts, and frees the cache. `decodes_run` of the settings applies only
// without tags; a recorded step runs every decode.
Generated generate(Step& step, Generation settings, const Prompts& prompts);

// A generating step: its batch's tokens are prompts.
class GenerationSchedule final : public Schedule {
 public:
  GenerationSchedule(Step& step, const Generation& settings) : step_(step), settings_(settings) {}

  Task run(const std::vector<MicroBatch>& parts, const Compute& forward,
           const Compute& backward) override;
  int64_t graph_pool_bytes() const override { return graph_pool_bytes_; }

 private:
  Step& step_;
  Generation settings_;
  int64_t graph_pool_bytes_ = 0;
};

// Sets the step's schedule, in a run that generates.
void apply_generation(const BuildRequest& request, Step& step);

}  // namespace headroom
