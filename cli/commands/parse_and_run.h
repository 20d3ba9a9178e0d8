// The start of every command: parses its arguments, prints its help. No torch here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/flags/flags.h"

namespace headroom {

// A command's work after parsing; the result is the exit code.
using CommandBody = std::function<int(const Arguments&)>;

// Prints `help` if --help was typed, otherwise runs the body. Throws UsageError on arguments that
// the line does not accept and on files that are not apart (Note [Files of a command line]), and
// the body's exceptions.
int parse_and_run(const CommandLine& line, const std::string& help, int argc,
                  const char* const* argv, const CommandBody& body);

// The same with the line's own help.
int parse_and_run(const CommandLine& line, int argc, const char* const* argv,
                  const CommandBody& body);

// The flags and the help of a command.
struct CommandDescription {
  CommandLine line;
  std::string help;
};

// Note [Descriptions of commands]
// Rationale: completion and manual pages must have the flags that the commands parse, and a command
//   makes its command line where it uses it.
// Approach: describe() starts the command; parse_and_run() stores what it is given and returns
//   before it parses anything.
// Limits: one thread. A command that chooses between two command lines describes the one that it
//   takes without arguments.
CommandDescription describe(const std::string& name, int (*run)(int argc, char** argv));

// A command line with another program's words after "--", which may be --help too.
struct SplitWords {
  std::vector<char*> flags;  // with the command's own name
  std::vector<std::string> rest;
};
SplitWords split_at_dashes(int argc, char** argv);

}  // namespace headroom
