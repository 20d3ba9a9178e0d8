#include "profiling/theory/ranks/rank_host.h"

#include "cards/cublas_workspace.h"
#include "profiling/theory/compute_capability.h"
#include "profiling/theory/rehearsal/step.h"

namespace headroom {

RankHost rehearsed_host(const RunSpec& spec, int64_t rank) {
  Run run(cublas_workspace_bytes(compute_capability(spec)));
  RehearsedStep step(run, spec, Head::kLanguage, "", rank);
  step.run();
  RankHost host{.pinned = step.pinned_host_bytes(), .pageable = step.host_state_bytes()};
  if (host.pageable == 0) return host;
  // All replicas' tokens and the one behind them: each rank makes the whole batch and takes its
  // part (Data::batch in train/data).
  const int64_t sequences = spec.batch_size * spec.mesh.size(MeshAxis::kData);
  host.pageable += (sequences * spec.context_length + 1) * element_size(DType::kInt64);
  return host;
}

}  // namespace headroom
