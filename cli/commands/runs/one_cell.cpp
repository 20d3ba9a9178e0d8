#include "cli/commands/runs/one_cell.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <string>

#include "cli/log.h"

namespace headroom {

void check_cell_program(const CellOptions& options) {
  const std::string program = cell_program(options);
  if (::access(program.c_str(), X_OK) == 0) return;
  throw std::runtime_error("cannot run " + program + ": " + std::strerror(errno));
}

void log_failure(const Record& record) {
  if (record.status == Status::kOk) return;
  log_error(to_string(record.status) + (record.reason.empty() ? "" : ": " + record.reason));
}

ExitCode exit_code_of(const Record& record) {
  if (record.status == Status::kOk) return kExitOk;
  if (record.status == Status::kUsage) return kExitUsage;
  const bool environment =
      record.status == Status::kUnsupported || record.status == Status::kUnwritable;
  return environment ? kExitEnvironment : kExitAllFailed;
}

}  // namespace headroom
