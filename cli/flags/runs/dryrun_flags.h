// The flags of headroom dryrun. No torch here.
#pragma once

#include <string>
#include <vector>

#include "bench/dryrun/dryrun.h"
#include "cli/flags/flags.h"

namespace headroom {

CommandLine dryrun_command_line();

// values: the texts of --value; words: the program and its arguments. Throws UsageError.
DryRun dryrun_from(const Arguments& arguments, const std::vector<std::string>& values,
                   std::vector<std::string> words);

}  // namespace headroom
