// The flags of headroom dryrun. No torch here.
#pragma once

#include <string>
#include <vector>

#include "bench/dryrun/dryrun.h"
#include "cli/flags/flags.h"

namespace headroom {

// A complete, valid command for error messages.
inline constexpr const char* kAdviceCommand =
    "headroom dryrun --card rtx4090 --try-advice --vary batch=1..64 -- python train.py "
    "--batch-size {batch}";

CommandLine dryrun_command_line();

// --route, of finetune too, and its checked value: "" = none. Throws UsageError.
Flag route_flag();
std::string route_of(const Arguments& arguments);

// values: the texts of --value; words: the program and its arguments. Throws UsageError.
DryRun dryrun_from(const Arguments& arguments, const std::vector<std::string>& values,
                   std::vector<std::string> words);

}  // namespace headroom
