// Talk: one line at a time on stderr. stdout is for data.
#pragma once

#include <string>

namespace headroom {

// Each message becomes one line, whatever is in it.
void log_error(const std::string& message);  // "headroom: <message>"
void log_warning(const std::string& message);
void log_line(const std::string& message);  // as it is: progress, the talk of a cell

}  // namespace headroom
