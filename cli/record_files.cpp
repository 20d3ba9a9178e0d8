#include "cli/record_files.h"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "bench/sweep/shards.h"
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
    throw;  // a fault of the machine, not of the command line
  } catch (const std::runtime_error& error) {
    throw UsageError(where + error.what());
  }
}

std::vector<std::string> file_list(const std::string& flag, const std::string& text) {
  if (access(text.c_str(), F_OK) == 0) return {text};
  return parse_list(flag, text, flag + " records.jsonl");
}

LatestRecords records_of_files(const std::vector<std::string>& paths, Keep keep,
                               const std::string& where) {
  // Keep::kPeaks drops the marks with a row's shard.
  if (paths.size() > 1) keep = std::max(keep, Keep::kFigures);
  LatestRecords all;
  std::vector<std::vector<Record>> files;
  for (const std::string& path : paths) {
    LatestRecords more = records_of(path, keep, where);
    all.replaced += more.replaced;
    files.push_back(std::move(more.records));
  }
  for (const std::string& line : gaps_in(files, paths)) log_warning(line);
  for (std::vector<Record>& records : files) {
    if (all.records.empty()) {
      all.records = std::move(records);  // no copy for a single file
    } else {
      std::move(records.begin(), records.end(), std::back_inserter(all.records));
    }
  }
  return all;
}

}  // namespace headroom
