// Files of Records: one JSON line each, read one at a time. No torch here.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "profiling/record_reader.h"

namespace headroom {

// A line that holds no Record.
struct SkippedLine {
  int64_t number = 0;  // from 1
  std::string why;     // "is torn (...)", "is no JSON"
};

// What reading passed over: all are counted, the first few named.
struct SkippedLines {
  static constexpr size_t kNamed = 5;

  int64_t count = 0;
  std::vector<SkippedLine> first;

  void add(SkippedLine line);
};

// For whoever read them: "records.jsonl: line 4 is torn ... and is passed over", one line each.
std::vector<std::string> in_words(const SkippedLines& skipped, const std::string& path);

// Note [What is no Record]
// Rationale: a file of Records outlives crashes: its last line may be torn, its tail NULs that a
//   file system left after a power cut, one line somebody's note. None of it may cost the rest.
// Approach: such a line is passed over and named with its number. A file is refused only where no
//   line of it is a Record and some line is not even a torn one: then it is something else.
// Limits: a file whose first 1000 lines are no Records is not read to its end.
//
// The readers below throw ReadError (files/mapped_file.h) where the file cannot be opened,
// BrokenInput (files/line_reader.h) where reading fails, std::runtime_error where it is no file of
// Records.

// All of them.
std::vector<Record> read_records(const std::string& path, SkippedLines* skipped = nullptr);

// Note [Rows that stand for each other]
// Rationale: a file that sweeps have appended to for months holds the same few runs again and
//   again. A table or a resumed sweep looks at the newest of each run only.
// Approach: every line is checked to be whole JSON, and of its settings, its status and its
//   environment (but for the time and the process) a fingerprint is made. Where the row before it
//   of the same settings has the same fingerprint, the newer one takes its place. A reader of the
//   rows that are left comes to the same answer, whatever counts as equal: between two rows that
//   stand for each other no other row of their settings stood.
// Limits: 64-bit hashes, for finding and not for proof. Rows that differ are kept whole, so memory
//   grows with the number of different runs, not with the file.
struct LatestRecords {
  std::vector<Record> records;  // in the order in which each first appeared
  int64_t replaced = 0;         // rows that a newer one stands for
  SkippedLines skipped;
};
LatestRecords read_latest_records(const std::string& path, Keep keep = Keep::kWhole);

}  // namespace headroom
