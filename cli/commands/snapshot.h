// headroom snapshot top|validate: reads memory_viz snapshots, whoever wrote them. No torch here.
#pragma once

namespace headroom {

// argv[0] is "snapshot" (ignored), argv[1] the verb. Data on stdout, talk on stderr. Returns 0 when
// all is well, 2 on usage, 3 when a file does not open (or would not in the viewer). Throws
// std::runtime_error when stdout cannot be written.
int run_snapshot_command(int argc, char** argv);

}  // namespace headroom
