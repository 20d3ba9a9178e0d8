// Which rows of a file of Records are the same run again, without reading them as Records. No torch
// here.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace headroom {

struct RowFingerprint {
  bool is_record = false;  // it has what every Record has
  uint64_t settings = 0;   // of spec{}
  uint64_t run = 0;        // and of status and environment{}, without time and process
};

// Keeps its memory from row to row.
class FingerprintReader {
 public:
  FingerprintReader();
  ~FingerprintReader();
  FingerprintReader(const FingerprintReader&) = delete;
  FingerprintReader& operator=(const FingerprintReader&) = delete;

  // Nothing for a line that is no JSON. LineReader::kSlack bytes behind the line must be readable.
  std::optional<RowFingerprint> read(std::string_view line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace headroom
