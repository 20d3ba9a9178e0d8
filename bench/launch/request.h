// The request to a cell: a line of JSON on its stdin. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/ppo/setup/setup.h"
#include "train/settings/spec.h"

namespace headroom {

// Note [Names of files in a request]
// Rationale: a cell must open exactly the files that the user named. JSON holds UTF-8, but file
//   names are any bytes; and "/dev/stdout" means the user's stdout, while a cell's own is the pipe
//   for its Record.
// Approach: texts that are not UTF-8 are sent beside the spec as lists of bytes, and restored. A
//   name of one of the parent's standard streams is replaced by that of an inherited copy. The
//   parent restores the typed names in the Record.
// Limits: in a Record's JSON a byte that is not UTF-8 is the replacement character.
struct CellRequest {
  RunSpec spec;
  int64_t host_memory_bytes = 0;  // 0 = no limit
  bool watches = false;           // see RunOptions::watches
  bool tells_progress = false;    // on stderr, see Note [Progress of a cell]
  std::optional<PpoSetup> ppo;    // runs its iterations instead of the spec's own steps
};

// One line.
std::string to_json_line(const CellRequest& request);

// A warm worker answers this line with its identity, without the devices.
inline constexpr const char* kIdentityRequest = R"({"identity": true})";

// Throws the exceptions of nlohmann::json and the spec's parsers.
CellRequest request_from_json(const std::string& text);

// Copies of this process's standard streams, inherited by a program started during their lifetime
// under the same file descriptors.
class InheritedStreams {
 public:
  // Replaces "/dev/stdin", "/dev/stdout" and "/dev/stderr" in `spec` by copies.
  explicit InheritedStreams(RunSpec spec);
  ~InheritedStreams();
  InheritedStreams(const InheritedStreams&) = delete;
  InheritedStreams& operator=(const InheritedStreams&) = delete;

  const RunSpec& spec() const { return spec_; }
  bool has_copies() const { return !copies_.empty(); }

 private:
  RunSpec spec_;
  std::vector<int> copies_;
};

}  // namespace headroom
