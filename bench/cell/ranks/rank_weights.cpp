#include "bench/cell/ranks/rank_weights.h"

#include "train/data/weight_parts.h"

namespace headroom {

void save_weights_of_ranks(const Step& step, const DeviceMesh& device_mesh,
                           const std::string& path) {
  const NamedTensors weights = step.weights();
  const bool writes =
      device_mesh.place(MeshAxis::kData) == 0 && device_mesh.place(MeshAxis::kTensor) == 0;
  const auto& stages = device_mesh.group(MeshAxis::kPipeline);
  if (!writes) return;
  if (stages == nullptr) return save_weights(weights, path);
  save_weights(weights, weight_part_path(path, stages->rank(), stages->size()));
  stages->all(true, step.device());  // all have written
  if (stages->rank() == 0) write_weight_index(path, stages->size());
}

}  // namespace headroom
