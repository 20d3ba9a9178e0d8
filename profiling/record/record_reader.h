// Reads a Record from its line. No torch here.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "profiling/record/record.h"

namespace headroom {

// Throws std::invalid_argument if the line is no Record; ignores unknown fields.
Record record_from_line(std::string_view line);

// The parts of a Record to read, fewest first.
enum class Keep {
  kPeaks,    // settings, status, peaks, times, and the environment without members that differ
             // by row (time, process, key, clocks); equal environments are shared
  kFigures,  // also figures by name: categories, theory. All that a table of many Records prints
  kWhole,
};

// For finding equal rows, not for proof.
struct RowFingerprint {
  uint64_t settings = 0;     // of spec{}
  uint64_t run = 0;          // of spec{}, status and environment{}, without time and process
  uint64_t environment = 0;  // of the part that Keep::kPeaks keeps
};

// Reads many Records, one after another.
class RecordReader {
 public:
  RecordReader();
  ~RecordReader();
  RecordReader(const RecordReader&) = delete;
  RecordReader& operator=(const RecordReader&) = delete;

  // False if the line is no JSON. LineReader::kSlack bytes behind it must be readable, and
  // unchanged until the last of these calls:
  bool parse(std::string_view line);
  bool is_record() const;  // has the keys of every Record
  RowFingerprint fingerprint() const;
  Record record(Keep keep);              // throws std::invalid_argument
  void read(Keep keep, Record& record);  // into a new Record; also throws

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace headroom
