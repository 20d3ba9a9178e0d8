// Wraps text to the width of a page. No torch here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Lines of at most `width` terminal columns (0 = one line). Broken at spaces; a word wider than a
// line is broken after / _ - . , : ; = | if it has one, else at the end of the line. Every line but
// the first begins with `indent` spaces.
std::vector<std::string> wrapped(std::string_view text, size_t width, size_t indent = 0);

// True of a command without quotes: a line break is allowed between any two words.
bool may_be_continued(std::string_view command);

// The lines of a command that a shell takes for one: all but the last end with a backslash. A
// command with quotes, or with a word that is wider than the page, is one line.
std::vector<std::string> command_lines(std::string_view command, size_t width, size_t indent = 0);

// Wraps each line of a page and ends it with a newline. A continuation begins at the line's last
// column (columns are two or more spaces apart), so that a list of flags stays a list. Prose that
// does not fit is joined with the next lines, and so is the last column of a list. Width 0:
// unchanged.
std::string fitted(std::string_view page, size_t width);

// One line of at most `width` columns: if wider, its longest word (a run's name) loses its middle,
// "small_ct...lion", and if that is not enough, the line its end.
std::string shortened(const std::string& line, size_t width);

// Columns of the widest word.
size_t widest_word(std::string_view text);

}  // namespace headroom
