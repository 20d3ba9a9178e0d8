// Generation by the blocks of a step, and as its schedule.
#pragma once

#include "train/build_request.h"
#include "train/generate/generator.h"
#include "train/schedule.h"
#include "train/spec.h"

namespace headroom {

class Step;

// The settings of a run that generates.
Generation generation_of(const RunSpec& spec, torch::Device device);

// New tokens after prompts. The cache is gone when it returns. `decodes_run` of
// the settings holds where nobody hears tags; a recorded step runs every decode.
Generated generate(Step& step, Generation settings, const Prompts& prompts);

// A step that generates: the tokens of its batch are prompts.
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

// In a run that generates, the step's schedule.
void apply_generation(const BuildRequest& request, Step& step);

}  // namespace headroom
