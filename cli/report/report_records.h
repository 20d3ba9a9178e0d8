// The part of a report that shows Records. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

// Figures and tables of the Records in the files, as HTML; "" without files. Throws as
// records_of_files() does (cli/record_files.h).
std::string records_html(const std::vector<std::string>& paths);

}  // namespace headroom
