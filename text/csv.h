// Comma-separated values that every reader parses the same way. No torch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// One record of RFC 4180, ended by a newline: cells with a comma, a quote or a line break are
// quoted. A text that a spreadsheet would run as a formula (leading = + - @, tab or carriage
// return) gets an apostrophe in front; a number, with or without a unit, is unchanged.
std::string csv_line(const std::vector<std::string>& cells);

// Appends one cell to `text`.
void add_csv_cell(std::string& text, std::string_view cell);

}  // namespace headroom
