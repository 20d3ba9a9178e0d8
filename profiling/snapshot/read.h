// Reads a memory_viz snapshot of any writer (headroom, CPython, libtorch). No torch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "profiling/snapshot/pickle/pickle_read.h"
#include "profiling/snapshot/snapshot.h"

namespace headroom {

// A problem of a snapshot file, in one line. Error: the viewer does not open the file, stops in one
// of its views, or shows wrong figures. Warning: the file opens, with a caveat.
struct SnapshotProblem {
  bool is_error = true;
  std::string text;
};

struct SnapshotFile {
  Snapshot snapshot;
  PickleFacts facts;
  std::vector<SnapshotProblem> problems;  // missing or strange keys, found while reading
};

// By the first byte: pickles of protocol 2 and later begin with 0x80, JSON never does. Where there
// is none to see, or another, the name: a .pickle file without a pickle is a broken snapshot.
bool is_snapshot(const std::string& path);

// `bytes` are a file's and may be anything. Throws PickleError.
SnapshotFile parse_snapshot(std::string_view bytes);

// Throws std::runtime_error with one line: path, byte offset if any, and reason.
SnapshotFile read_snapshot_file(const std::string& path);
Snapshot read_snapshot(const std::string& path);

}  // namespace headroom
