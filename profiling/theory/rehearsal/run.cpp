#include "profiling/theory/rehearsal/run.h"

#include "profiling/theory/peak.h"

namespace headroom {

void Run::use_workspace() {
  std::shared_ptr<Storage>& workspace = workspaces_[in_backward ? 1 : 0];
  if (workspace != nullptr || workspace_bytes_ == 0) return;
  workspace = allocate(workspace_bytes_);
  workspace->belongs_to(kWorkspaces);
}

}  // namespace headroom
