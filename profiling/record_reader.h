// A Record from its line. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "profiling/record.h"

namespace headroom {

// Throws std::invalid_argument on something that is not a Record; ignores unknown fields.
Record record_from_line(std::string_view line);

// What of a Record is read, less first.
enum class Keep {
  kPeaks,    // settings, status, peaks, times, and of the environment what is not of one row (time,
             // process, key, clocks); rows that agree in that share it
  kFigures,  // figures by name too: categories, theory. All that a table from many Records prints
  kWhole,
};

// For finding rows that agree, not for proof.
struct RowFingerprint {
  uint64_t settings = 0;     // of spec{}
  uint64_t run = 0;          // and of status and environment{}, without time and process
  uint64_t environment = 0;  // of what Keep::kPeaks leaves of it
};

// Many of them, one after another.
class RecordReader {
 public:
  RecordReader();
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // False where the line is no JSON. LineReader::kSlack bytes behind it must be readable, and stay
  // as they are while it is asked about:
  bool parse(std::string_view line);
  bool is_record() const;  // it has what every Record has
  RowFingerprint fingerprint() const;
  Record record(Keep keep);              // throws std::invalid_argument
  void read(Keep keep, Record& record);  // into a new one; likewise

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headroom
