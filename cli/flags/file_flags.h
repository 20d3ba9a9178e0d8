// The files that a command line names, before anything is done with them. No torch here.
//
// Note [Files of a command line]
// Rationale: what a command reads must survive what it writes, whichever flags name the two; and
//   "-", /dev/stdout and ">(command)" mean what they mean to other programs.
// Approach: a flag says what is done with its file (FileUse), a command line from where on its
//   arguments are files, and parse_and_run() calls this once for every command. "-" becomes
//   /dev/stdin or /dev/stdout. Where a file is stdout itself, the command's own report goes to
//   stderr, as `tar -cvf -` has it. Then check_apart() (files/same_file.h).
// Limits: files that come into being under names of their own (sweep's --snapshot-dir, dryrun's
//   FILE.<pid>, what a dry run's program writes) are checked where they are named, or not at all.
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

// Puts the streams in the place of "-" and returns every file that is named; the user's file of
// cards is read by all. Throws UsageError on an empty name.
FileArguments name_files(const CommandLine& line, Arguments& arguments);

// Whether one of them is stdout by name.
bool writes_stdout(const FileArguments& files);

}  // namespace headroom
