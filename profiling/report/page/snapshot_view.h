// A snapshot as the data of the report's page. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/report/page/history.h"
#include "profiling/snapshot/read.h"

namespace headroom {

struct SnapshotView {
  std::string json;                    // one line: names, stacks, settings, phases, and the
                                       // histories' figures
  std::vector<DeviceHistory> devices;  // those with events or blocks
};

// name: of the file, as shown. Contradictions in the file (profiling/snapshot/validate.h) are shown
// too.
SnapshotView snapshot_view(const std::string& name, const SnapshotFile& file);

}  // namespace headroom
