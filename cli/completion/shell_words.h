// The words that may stand on a command line, for completion. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"

namespace headroom {

struct DescribedCommand {
  NamedCommand command;
  CommandDescription description;
};

std::vector<DescribedCommand> describe_all(std::span<const NamedCommand> commands);

// The allowed words of a flag's value: of its help, "kind of step: forward, training (default
// forward)"; names of cards and of models. Empty where any text, number or file may stand.
std::vector<std::string> value_words(const Flag& flag);

// True if the value is a list of them, separated by commas.
bool takes_list(const Flag& flag);

// The words that may come first: "top", "validate" and "diff" of snapshot. Empty: files or flags.
std::vector<std::string> first_words(const DescribedCommand& command);

}  // namespace headroom
