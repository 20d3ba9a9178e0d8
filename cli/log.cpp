#include "cli/log.h"

// The only file that sees spdlog: it brings a fmt of its own, which must not meet torch's.
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "text/printable.h"

namespace headroom {
namespace {

spdlog::logger& logger() {
  static const auto kLogger = [] {
    auto made = std::make_shared<spdlog::logger>("headroom",
                                                 std::make_shared<spdlog::sinks::stderr_sink_st>());
    made->set_pattern("%v");
    made->flush_on(spdlog::level::info);
    // A closed stderr is no reason to lose a sweep.
    made->set_error_handler([](const std::string&) {});
    return made;
  }();
  return *kLogger;
}

}  // namespace

// The text is an argument, not the format: it may hold braces.
void log_error(const std::string& message) {
  logger().error("{}", "headroom: " + printable(message));
}
void log_warning(const std::string& message) {
  logger().warn("{}", "headroom: warning: " + printable(message));
}
void log_line(const std::string& message) { logger().info("{}", printable(message)); }

}  // namespace headroom
