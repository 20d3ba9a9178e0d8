// StderrRelay: one line at a time on stderr. stdout is for data.
#pragma once

#include <string>

namespace headroom {

// Each message becomes one line, whatever is in it; on a terminal it is broken between words.
void log_error(const std::string& message);  // "headroom: <message>"
void log_warning(const std::string& message);
void log_line(const std::string& message);  // as it is: progress, the talk of a cell

// Where stderr is a terminal: what is going on, on one line that the next message takes away, cut
// to the terminal's width. Nothing elsewhere. "" takes it away.
void log_status(const std::string& message);
bool shows_status();  // stderr is a terminal

}  // namespace headroom
