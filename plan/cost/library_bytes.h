// Memory that libraries take on a GPU. No torch here.
#pragma once

#include <cstdint>

namespace headroom {

// NCCL's buffers, assumed: vLLM 0.19 found 1.53 GiB taken with the CUDA context at tp 2 and 4, and
// 0.51 GiB at tp 1 (results/published/planning_anchors.json). Other reports: 0.5 to 1.6 GiB
// (github.com/NVIDIA/nccl, issues 964 and 864). 0 on one GPU.
int64_t nccl_bytes(int64_t gpus);

}  // namespace headroom
