// Files of Records: one JSON line each, read one at a time. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiling/record/record_reader.h"

namespace headroom {

// A line without a Record.
struct SkippedLine {
  int64_t number = 0;  // from 1
  std::string why;     // "is torn (...)", "is no JSON"
};

// All skipped lines are counted, the first few are kept.
struct SkippedLines {
  static constexpr size_t kNamed = 5;

  int64_t count = 0;
  std::vector<SkippedLine> first;

  void add(SkippedLine line);
};

// Messages for the user, one line each: "records.jsonl: line 4 is torn ... and is passed over".
std::vector<std::string> in_words(const SkippedLines& skipped, const std::string& path);

// Note [Lines that are no Records]
// Rationale: a file of Records outlives crashes: its last line may be torn, its tail NULs left by a
//   file system after a power cut, one line a person's note. None may cost the other lines.
// Approach: such a line is skipped and reported with its number. A file is refused only if no line
//   is a Record and some line is not even a torn one: then it is a different kind of file.
// Limits: reading stops if the first 1000 lines are no Records.
//
// The readers below throw ReadError (files/mapped_file.h) if the file cannot be opened, BrokenInput
// (files/line_reader.h) if reading fails, std::runtime_error if it is no file of Records.

// Reads all Records.
std::vector<Record> read_records(const std::string& path, SkippedLines* skipped = nullptr);

// Note [Rows that stand for each other]
// Rationale: months of sweeps append the same few runs to a file again and again. A table or a
//   resumed sweep reads only the newest row of each run.
// Approach: every line must be whole JSON. Its settings, status and environment (without the time
//   and the process) give a fingerprint. If the previous row of the same settings has the same
//   fingerprint, the newer row takes its place. A reader of the remaining rows gets the same result
//   under any definition of equal rows: no other row of the same settings stood between the two.
// Limits: 64-bit hashes, for finding and not for proof. Different rows are kept whole, so memory
//   grows with the number of different runs, not with the file.
struct LatestRecords {
  std::vector<Record> records;  // in the order of their first appearance
  int64_t replaced = 0;         // rows replaced by a newer one
  SkippedLines skipped;
};
LatestRecords read_latest_records(const std::string& path, Keep keep = Keep::kWhole);

}  // namespace headroom
