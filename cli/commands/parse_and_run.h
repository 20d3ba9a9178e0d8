// What every command does first: its arguments read, its help printed. No torch here.
#pragma once

#include <functional>
#include <string>

#include "cli/flags/flags.h"

namespace headroom {

// The work of a command once its flags are known; the result is the exit code.
using CommandBody = std::function<int(const Arguments&)>;

// Prints `help` where --help was typed, else runs the body. Throws UsageError on arguments that
// the line does not take, on files that are not apart (Note [Files of a command line]), and
// whatever the body throws.
int parse_and_run(const CommandLine& line, const std::string& help, int argc,
                  const char* const* argv, const CommandBody& body);

// The same with the line's own help.
int parse_and_run(const CommandLine& line, int argc, const char* const* argv,
                  const CommandBody& body);

}  // namespace headroom
