// A file without a name. No torch here.
//
// Note [Files without a name]
// Rationale: the contents can be made again, so they are worthless after the run, and a killed run
//   removes nothing.
// Approach: the file never has a name (O_TMPFILE), or loses it right after opening. The kernel
//   frees its space with its last descriptor, however the process ends. The space is reserved at
//   once.
// Limits: `ls` does not show the file; `df` and /proc/PID/fd do.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/offload/disk/direct_file.h"

namespace headroom {

class ScratchFile {
 public:
  // Checks before anything runs whether such a file can be made. Throws WriteError
  // (files/replace_file.h), one line.
  static void check(const std::string& directory);

  // what: the contents, for messages. Throws WriteError, also if there is no space.
  ScratchFile(const std::string& directory, const std::string& what, int64_t bytes);

  int descriptor() const { return file_.get(); }
  const std::string& name() const { return name_; }  // for messages
  // Notes for the user, a line each: no O_DIRECT, no space reserved.
  const std::vector<std::string>& notes() const { return notes_; }

 private:
  std::string name_;
  std::vector<std::string> notes_;
  OwnedFile file_;
};

}  // namespace headroom
