// Reads the user's files of Records. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/record/record_file.h"

namespace headroom {

// The Records of one file, reduced to `keep`: only the newest of equivalent rows; warns about lines
// that are not Records. Throws UsageError that begins with `where` ("--records: ") on a file that
// cannot be opened or holds something else; BrokenInput if reading fails.
LatestRecords records_of(const std::string& path, Keep keep = Keep::kFigures,
                         const std::string& where = "");

// The same for several files together. Warns about missing cells of a sharded grid, and cells in
// two files: Note [Shards] in bench/sweep/shards.h.
LatestRecords records_of_files(const std::vector<std::string>& paths, Keep keep = Keep::kFigures,
                               const std::string& where = "");

// "FILE" or "FILE,FILE,...": an existing file counts as one, even with commas in its name. Throws
// UsageError on an empty name.
std::vector<std::string> file_list(const std::string& flag, const std::string& text);

}  // namespace headroom
