// Reads a memory_viz snapshot back, whoever wrote it (headroom, CPython, libtorch). No torch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiling/snapshot/pickle_read.h"
#include "profiling/snapshot/snapshot.h"

namespace headroom {

// Something wrong with a snapshot file, in one line. An error: the viewer does not open the file,
// stops in one of its views, or shows wrong figures. A warning: it opens, but a reader should know.
struct SnapshotProblem {
  bool is_error = true;
  std::string text;
};

struct SnapshotFile {
  Snapshot snapshot;
  PickleFacts facts;
  std::vector<SnapshotProblem> problems;  // keys that are missing or strange; found while reading
};

// The bytes of a file. Throws PickleError; `bytes` may be anything.
SnapshotFile parse_snapshot(std::string_view bytes);

// Throws std::runtime_error with one line: path, byte offset where there is one, and reason.
SnapshotFile read_snapshot_file(const std::string& path);
Snapshot read_snapshot(const std::string& path);

}  // namespace headroom
