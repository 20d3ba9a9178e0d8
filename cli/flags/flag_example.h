// Refusals of a flag whose value is missing, empty or given twice. No torch here.
#pragma once

#include <string>

#include "cli/flags/flags.h"

namespace headroom {

// Flags that run as they stand, this one among them.
std::string example_of(const Flag& flag);

// Throws UsageError on an empty name of a file, text or size: a shell's variable that was never
// set, most likely, and not the same as no flag. Other empty values are refused by their parsers.
void check_not_empty(const Flag& flag, const std::string& value);

}  // namespace headroom
