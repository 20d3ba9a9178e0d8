// Messages: one line at a time on stderr. stdout is for data.
#pragma once

#include <string>

namespace headroom {

// Each message becomes one line, whatever its content; on a terminal it is wrapped between words.
void log_error(const std::string& message);  // "headroom: <message>"
int log_interrupted();  // after ^C or SIGTERM: one line; returns kExitInterrupted
void log_warning(const std::string& message);
void log_line(const std::string& message);  // without a prefix: progress, a cell's output

// If stderr is a terminal: shows the current activity on one line, cut to the terminal's width and
// removed by the next message. Otherwise does nothing. "" removes it.
void log_status(const std::string& message);
bool shows_status();  // stderr is a terminal

}  // namespace headroom
