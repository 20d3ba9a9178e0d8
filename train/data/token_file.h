// A file of token ids, memory-mapped. No torch here.
#pragma once

#include <cstdint>
#include <string>

#include "files/mapped_file.h"

namespace headroom {

// Raw little-endian ids, uint16 or uint32, nothing else in the file. Step k of a run reads the
// tokens_per_step + 1 ids that begin at k * tokens_per_step, wrapping around at the end: the first
// tokens_per_step are the inputs, the same shifted by one are the targets.
class TokenFile {
 public:
  // Throws UsageError: no such file, a size that is not a whole number of ids, fewer than two ids.
  TokenFile(const std::string& path, const std::string& token_type);

  int64_t size() const { return size_; }  // ids
  int64_t at(int64_t index) const;        // index modulo size()

  // Throws UsageError naming the first id that is not below vocab_size among those that `steps`
  // steps read, and its position.
  void check_ids(int64_t vocab_size, int64_t tokens_per_step, int64_t steps) const;

 private:
  std::string path_;
  MappedFile file_;
  int64_t width_;  // bytes per id
  int64_t size_;
};

}  // namespace headroom
