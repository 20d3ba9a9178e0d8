#include "cli/record_files.h"

#include <stdexcept>

#include "cli/log.h"
#include "text/quantity.h"

namespace headroom {

std::vector<Record> records_of(const std::string& path, const std::string& where) {
  try {
    std::vector<int> torn;
    std::vector<Record> records = read_records(path, &torn);
    for (const int line : torn) log_warning(torn_line_message(path, line));
    return records;
  } catch (const std::runtime_error& error) {
    throw UsageError(where + error.what());
  }
}

}  // namespace headroom
