// A table's text on a page of a given width. No torch here.
#pragma once

#include <cstddef>
#include <string>

#include "text/table.h"

namespace headroom {

// Note [A table on a narrow page]
// Rationale: a terminal breaks a long line in the middle of a word and puts the rest under the
//   wrong column; a file has no width.
// Approach: all content is kept, in the first of these ways that fits: unchanged; without drawn
//   bars; texts on several lines, numbers and words whole; columns folded: the table in parts, one
//   under the other, each beginning with the key columns; one line per cell. After a folded table
//   the page names ways to get whole rows.
// Limits: a word wider than the page is broken (text/wrap.h). A page narrower than 40 counts as 40.
inline constexpr size_t kNarrowestPage = 40;

// Title, header, rows and notes; width 0 = as wide as needed. `table` is the version for people: no
// exact column, every cell printable. Sets `folded` if rows are not whole.
std::string text_of(const Table& table, size_t width, bool& folded);

// "Folded to 80 columns; ..." for the end of the page.
std::string folded_note(size_t width);

}  // namespace headroom
