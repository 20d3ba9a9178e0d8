// Refuses flags with a missing, empty or repeated value. No torch here.
#pragma once

#include <string>

#include "cli/flags/flags.h"

namespace headroom {

// Valid flags that include this one.
std::string example_of(const Flag& flag);

// Throws UsageError on an empty file name, text or size: most likely an unset shell variable, which
// differs from an absent flag. Other empty values are refused by their parsers.
void check_not_empty(const Flag& flag, const std::string& value);

}  // namespace headroom
