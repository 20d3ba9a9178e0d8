#include "cli/log.h"

// The only file that includes spdlog, whose own fmt conflicts with torch's.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "text/printable.h"
#include "text/wrap.h"

namespace headroom {
namespace {

spdlog::logger& logger() {
  static const auto kLogger = [] {
    auto made = std::make_shared<spdlog::logger>("headroom",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::info);
    // A closed stderr must not end a sweep.
    made->set_error_handler([](const std::string&) {});
    return made;
  }();
  return *kLogger;
}

bool status_shown = false;

// Clears the line.
constexpr const char* kErase = "\r\033[K";

void write_status(const std::string& text) {
  // Not through the logger, which ends lines. A closed terminal is ignored.
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text.data(), text.size());
  status_shown = text != kErase;
}

// Clears the status line, and makes the message printable and wrapped.
std::string settled(const std::string& message) {
  if (status_shown) write_status(kErase);
  constexpr size_t kContinuation = 2;
  std::string text;
  for (const std::string& line :
       wrapped(printable(message), terminal_width(STDERR_FILENO), kContinuation)) {
    text.append(text.empty() ? "" : "\n").append(line);
  }
  return text;
}

}  // namespace

bool shows_status() { return is_live(STDERR_FILENO); }

void log_status(const std::string& message) {
  if (!shows_status() || (message.empty() && !status_shown)) return;
  const std::string text = printable(message);
  const size_t width = terminal_width(STDERR_FILENO);
  // The last column stays free: a terminal may wrap after it.
  write_status(kErase + (width == 0 ? text : shortened(text, width - 1)));
}

// The text is an argument, not the format: it may contain braces.
void log_error(const std::string& message) {
  logger().error("{}", settled("headroom: " + message));
}
int log_interrupted() {
  log_error("interrupted");
  return kExitInterrupted;
}
void log_warning(const std::string& message) {
  logger().warn("{}", settled("headroom: warning: " + message));
}
void log_line(const std::string& message) { logger().info("{}", settled(message)); }

}  // namespace headroom
