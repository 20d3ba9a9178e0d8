#include "cli/record_files.h"

#include <stdexcept>

#include "cli/log.h"
#include "text/quantity.h"

namespace headroom {

std::vector<Record> records_of(const std::string& path, const std::string& where) {
  try {
    bool torn = false;
    std::vector<Record> records = read_records(path, &torn);
    if (torn) log_warning(path + ": its last line is cut off and was left out");
    return records;
  } catch (const std::runtime_error& error) {
    throw UsageError(where + error.what());
  }
}

}  // namespace headroom
