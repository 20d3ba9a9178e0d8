// Which row of an earlier sweep stands for a cell. No torch here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiling/record/record.h"

namespace headroom {

// Rows by the key that their environment holds. The Records must outlive it.
class EarlierRows {
 public:
  explicit EarlierRows(const std::vector<Record>& records);

  // The newest of that key that also stands for the files that `spec` writes and, where memory ran
  // out, for the host memory there is now; null when there is none.
  const Record* find(const std::string& key, const RunSpec& spec, int64_t host_memory_bytes) const;

 private:
  std::map<std::string, std::vector<const Record*>> by_key_;
};

}  // namespace headroom
