// Text put into lines no wider than a page. No torch here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Lines of at most `width` terminal columns (0 = one line, however long). Broken at spaces; a word
// wider than a line is broken behind / _ - . , : ; = | where it has one, else where the line ends.
// Every line but the first begins with `indent` spaces.
std::vector<std::string> wrapped(std::string_view text, size_t width, size_t indent = 0);

// A page of lines, each of them wrapped and ended by a newline: what goes on a further line begins
// where the line's last column does (columns are two or more spaces apart), so that a list of flags
// stays one. Lines of prose that do not fit are filled up from those after them, and so is the last
// column of a list. Width 0: as it is.
std::string fitted(std::string_view page, size_t width);

// One line of at most `width` columns: where it is wider its longest word (a run's name) loses its
// middle, "small_ct...lion", and where that is not enough the line its end.
std::string shortened(const std::string& line, size_t width);

// Columns of the widest word.
size_t widest_word(std::string_view text);

}  // namespace headroom
