// Finds a cell's row from an earlier sweep. No torch here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiling/record/record.h"

namespace headroom {

// Rows by the key in their environment. The Records must outlive it.
class EarlierRows {
 public:
  explicit EarlierRows(const std::vector<Record>& records);

  // The newest row of that key that is also valid for the files that `spec` writes and, after an
  // out-of-memory, for the current host memory; null if there is none.
  const Record* find(const std::string& key, const RunSpec& spec, int64_t host_memory_bytes) const;

 private:
  std::map<std::string, std::vector<const Record*>> by_key_;
};

}  // namespace headroom
