// Files of Records that the user names. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/record/record_file.h"

namespace headroom {

// Those of one file, as much of them as tables need: of rows that stand for each other the newest;
// says which lines are none. Throws UsageError that begins with `where` ("--records: ") on a file
// that cannot be opened or holds something else; BrokenInput where reading it fails.
LatestRecords records_of(const std::string& path, Keep keep = Keep::kFigures,
                         const std::string& where = "");

// The same of several files together. Says which cells are missing of a grid that was run in
// shards, and which two files have: Note [Shards] in bench/sweep/shards.h.
LatestRecords records_of_files(const std::vector<std::string>& paths, Keep keep = Keep::kFigures,
                               const std::string& where = "");

// "FILE" or "FILE,FILE,...": a file that there is counts as one, whatever its name holds. Throws
// UsageError on an empty name.
std::vector<std::string> file_list(const std::string& flag, const std::string& text);

}  // namespace headroom
