// What a cell is asked for, as the line of JSON that it reads on stdin. No torch here.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/ppo/setup/setup.h"
#include "train/settings/spec.h"

namespace headroom {

// Note [Names of files in a request]
// Rationale: a cell must open the very files that the user named. JSON holds UTF-8 and names of
//   files are any bytes; and "/dev/stdout" means the user's stdout, while a cell's own is the pipe
//   that its Record goes through.
// Approach: texts that are not UTF-8 travel beside the spec as lists of bytes, and are put back. A
//   name of one of the parent's standard streams becomes the name of a copy that the cell inherits.
//   The Record holds what the user typed again when the parent has it.
// Limits: in a Record's JSON a byte that is no UTF-8 is the replacement character.
struct CellRequest {
  RunSpec spec;
  int64_t host_memory_bytes = 0;  // 0 = no limit
  bool watches = false;           // see RunOptions::watches
  bool tells_progress = false;    // on stderr, see Note [Progress of a cell]
  std::optional<PpoSetup> ppo;    // iterations of it in the place of the spec's own steps
};

// One line.
std::string to_json_line(const CellRequest& request);

// What a warm worker answers with its identity, without the devices.
inline constexpr const char* kIdentityRequest = R"({"identity": true})";

// Throws what nlohmann::json and the spec's parsers throw.
CellRequest request_from_json(const std::string& text);

// Copies of this process's standard streams, for a program that is started while they live. The
// copies are its descriptors too.
class InheritedStreams {
 public:
  // `spec` with copies in the place of "/dev/stdin", "/dev/stdout" and "/dev/stderr".
  explicit InheritedStreams(RunSpec spec);
  ~InheritedStreams();
  InheritedStreams(const InheritedStreams&) = delete;
  InheritedStreams& operator=(const InheritedStreams&) = delete;

  const RunSpec& spec() const { return spec_; }

 private:
  RunSpec spec_;
  std::vector<int> copies_;
};

}  // namespace headroom
