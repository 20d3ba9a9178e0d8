// --output of commands that draw memory over time. No torch here.
#pragma once

#include <string>

#include "cli/flags/flags.h"

namespace headroom {

Flag timeline_flag();

// The name of the file to write; "" = none. Throws UsageError if it is neither .svg nor a stream.
std::string timeline_file_from(const Arguments& arguments);

}  // namespace headroom
