// Identifies the run that states in files belong to. No torch here.
#pragma once

#include <string>

#include "train/settings/spec.h"

namespace headroom {

// Equal for two runs if the second may continue from the first: the same model, data, optimizer and
// precision of weights. Readable: "model_size=small context_length=512 ...". Leaves out how a step
// is computed (checkpointing, offload, kernels), where and how often.
std::string run_identity(const RunSpec& spec);

}  // namespace headroom
