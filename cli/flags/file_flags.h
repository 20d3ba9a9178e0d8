// Checks the files named on a command line, before they are used. No torch here.
//
// Note [Files of a command line]
// Rationale: a command must not overwrite its own inputs, whichever flags name them; and "-",
//   /dev/stdout and ">(command)" must have their usual meaning.
// Approach: a flag declares the use of its file (FileUse), a command line its first argument that
//   is a file, and parse_and_run() calls this once for every command. "-" becomes /dev/stdin or
//   /dev/stdout. If a file is stdout itself, the command's own report goes to stderr, as in
//   `tar -cvf -`. Then check_apart() (files/same_file.h).
// Limits: files with generated names (sweep's --snapshot-dir, dryrun's FILE.<pid>, the output of a
//   dry run's program) are checked where they are named, or not at all.
#pragma once

#include <string>
#include <vector>

#include "cli/flags/flags.h"
#include "files/same_file.h"

namespace headroom {

struct FileArguments {
  std::vector<NamedFile> read;
  std::vector<NamedFile> written;
};

// Replaces "-" by the streams and returns every named file; every command reads the user's file of
// cards. Throws UsageError on an empty name.
FileArguments name_files(const CommandLine& line, Arguments& arguments);

// True if a written file is stdout by name.
bool writes_stdout(const FileArguments& files);

}  // namespace headroom
