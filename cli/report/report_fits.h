// The part of a report that shows documents of `headroom fit --format json`. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

// True for a regular file that holds such a document.
bool holds_fit(const std::string& path);

// The frontier of each document and its answers with their commands, as HTML; "" without files.
// Throws UsageError on a document that lacks a part.
std::string fits_html(const std::vector<std::string>& paths);

}  // namespace headroom
