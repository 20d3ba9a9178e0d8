// The flags of headroom dryrun. No torch here.
#pragma once

#include <string>
#include <vector>

#include "bench/dryrun/dryrun.h"
#include "cli/flags/flags.h"

namespace headroom {

CommandLine dryrun_command_line();

// Removes every --value with its text from `words`, because other flags may not be given twice. One
// without a text stays, and is refused later.
std::vector<std::string> take_values(std::vector<char*>& words);

// values: of take_values; words: the program and its arguments. Throws UsageError.
DryRun dryrun_from(const Arguments& arguments, const std::vector<std::string>& values,
                   std::vector<std::string> words);

}  // namespace headroom
