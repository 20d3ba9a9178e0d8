// Files of Records that the user names. No torch here.
#pragma once

#include <string>

#include "profiling/record_file.h"

namespace headroom {

// Those of one file, as much of them as tables need: of rows that stand for each other the newest;
// says which lines are none. Throws UsageError that begins with `where` ("--records: ") on a file
// that cannot be opened or holds something else; BrokenInput where reading it fails.
LatestRecords records_of(const std::string& path, Keep keep = Keep::kFigures,
                         const std::string& where = "");

}  // namespace headroom
