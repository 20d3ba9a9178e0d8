// A file without a name. No torch here.
//
// Note [Files without a name]
// Rationale: what lies there can be made again, so it is worth nothing once the run has ended, and
//   a killed run removes nothing.
// Approach: the file never has a name (O_TMPFILE), or loses it right after it was opened; the
//   kernel takes its room back when its last descriptor goes, whatever ends the process. The room
//   is reserved at once.
// Limits: `ls` does not show it: `df` does, and /proc/PID/fd.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/offload/disk/direct_file.h"

namespace headroom {

class ScratchFile {
 public:
  // Finds out before anything runs whether there could be one. Throws WriteError
  // (files/replace_file.h), one line.
  static void check(const std::string& directory);

  // what: that lies there, for messages. Throws WriteError, where there is no room too.
  ScratchFile(const std::string& directory, const std::string& what, int64_t bytes);

  int descriptor() const { return file_.get(); }
  const std::string& name() const { return name_; }  // for messages
  // What the user should know, a line each: no O_DIRECT, no space is reserved.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::string name_;
  std::vector<std::string> notes_;
  OwnedFile file_;
};

}  // namespace headroom
