// A table's text on a page of a given width. No torch here.
#pragma once

#include <cstddef>
#include <string>

#include "text/table.h"

namespace headroom {

// Note [A table on a narrow page]
// Rationale: a terminal cuts a line that is too long in the middle of a word and puts the rest
//   under the wrong column; a file has no width.
// Approach: what the table says is kept, in the first of these ways that fits: as it is; without
//   drawn bars; texts on several lines, numbers and words whole; columns folded: the table in parts
//   one under the other, each beginning with the columns that say which row it is; one line for
//   each cell. Where a table was folded, the page says how to get whole rows.
// Limits: a word wider than the page is broken (text/wrap.h). A page narrower than 40 is taken
// for 40.
inline constexpr size_t kNarrowestPage = 40;

// Title, header, rows and notes; width 0 = as wide as needed. `table` is as people see it: no exact
// column, every cell printable. Sets `folded` where rows are not whole.
std::string text_of(const Table& table, size_t width, bool& folded);

// "Folded to 80 columns; ..." for the end of the page.
std::string folded_note(size_t width);

}  // namespace headroom
