// Tables and figures of Records as parts of the report's page. No torch here.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "profiling/report/figures/figure.h"
#include "text/table.h"

namespace headroom {

// A table that the page's scripts sort and copy. Exact columns are hidden: they give the order of
// the readable column before them, and are in the copied CSV.
std::string to_html(const Table& table);

// The command that makes a Record again.
using CommandOf = std::function<std::string(const Record&)>;

// With the environments and commands of its Records.
std::string to_html(const Figure& figure, const CommandOf& command_of);

}  // namespace headroom
