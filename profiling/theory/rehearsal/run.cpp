#include "profiling/theory/rehearsal/run.h"

#include "profiling/theory/peak.h"

namespace headroom {

void Run::use_workspace() {
  std::shared_ptr<Storage>& workspace = workspaces_[in_backward ? 1 : 0];
  if (workspace != nullptr || workspace_bytes_ == 0) return;
  workspace = allocate(workspace_bytes_);
  workspace->belongs_to(kWorkspaces);
}

// at::cuda::getCUDABlasLtWorkspace(): the same size on every card.
void Run::use_lt_workspace() {
  constexpr int64_t kBytes = 1 << 20;
  use_workspace();
  std::shared_ptr<Storage>& workspace = lt_workspaces_[in_backward ? 1 : 0];
  if (workspace != nullptr) return;
  workspace = allocate(kBytes);
  workspace->belongs_to(kWorkspaces);
}

}  // namespace headroom
