// Which run states in files are of. No torch here.
#pragma once

#include <string>

#include "train/spec.h"

namespace headroom {

// Equal for two runs of which the second may go on where the first ended: the same model, data,
// optimizer and precision of weights. As people read it: "model_size=small context_length=512 ...".
// How a step is computed (checkpointing, offload, kernels), where and how often is not in it.
std::string run_identity(const RunSpec& spec);

}  // namespace headroom
