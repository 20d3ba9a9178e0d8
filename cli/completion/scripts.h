// Completion scripts and manual pages, made from the flags of the commands. No torch here.
#pragma once

#include <string>
#include <vector>

#include "cli/completion/shell_words.h"

namespace headroom {

// The whole script, for `eval` or a file that the shell loads.
std::string bash_completion(const std::vector<DescribedCommand>& commands);
std::string zsh_completion(const std::vector<DescribedCommand>& commands);

// headroom(1), and headroom-COMMAND(1), in the man macros of roff.
std::string manual_page(const std::vector<DescribedCommand>& commands, const std::string& version);
std::string manual_page(const DescribedCommand& command, const std::string& version);

}  // namespace headroom
