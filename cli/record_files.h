// Files of Records that the user names. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/record.h"

namespace headroom {

// All of one file; says so when its last line is cut off. Throws UsageError that begins with
// `where` ("--records: ") on a file that is none.
std::vector<Record> records_of(const std::string& path, const std::string& where = "");

}  // namespace headroom
