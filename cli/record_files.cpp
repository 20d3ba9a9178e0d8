#include "cli/record_files.h"

#include <stdexcept>

#include "cli/log.h"
#include "files/line_reader.h"
#include "text/quantity.h"

namespace headroom {

LatestRecords records_of(const std::string& path, Keep keep, const std::string& where) {
  try {
    LatestRecords latest = read_latest_records(path, keep);
    for (const std::string& line : in_words(latest.skipped, path)) log_warning(line);
    return latest;
  } catch (const BrokenInput&) {
    throw;  // the machine's fault, not the command line's
  } catch (const std::runtime_error& error) {
    throw UsageError(where + error.what());
  }
}

}  // namespace headroom
