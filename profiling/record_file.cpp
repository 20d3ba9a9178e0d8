#include "profiling/record_file.h"

#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "files/line_reader.h"

namespace headroom {
namespace {

constexpr int64_t kTriedLines = 1000;
constexpr const char* kTorn = "is torn (its writer was killed, or the disk was full)";
constexpr const char* kNoJson = "is no JSON";
constexpr const char* kNoRecord = "is no Record: schema_version, status or spec is missing";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

// Of a line that is no JSON.
std::string problem_of(std::string_view line) {
  if (line.find_first_not_of('\0') == std::string_view::npos) return "is NULs only";
  return line.front() == '{' || line.front() == '\0' ? kTorn : kNoJson;
}

// Reads lines and keeps account of those that are none.
class RecordLines {
 public:
  explicit RecordLines(const std::string& path) : path_(path), lines_(path) {}

  // The next line that is a Record; the reader has it parsed.
  bool next(Record& record, Keep keep) {
    std::string_view line;
    while (lines_.next(line)) {
      if (lines_.cut_off()) {
        skip("is longer than 64 MiB", true);
        continue;
      }
      if (is_blank(line)) continue;
      if (!rows_.parse(line)) {
        const std::string why = problem_of(line);
        skip(why, why == kNoJson);
      } else if (!rows_.is_record()) {
        skip(kNoRecord, true);
      } else if (read(record, keep)) {
        return true;
      }
    }
    return false;
  }

  RowFingerprint fingerprint() const { return rows_.fingerprint(); }

  // At the end: what was passed over. Throws where nothing was found and something is foreign.
  SkippedLines finish() {
    refuse_foreign();
    return std::move(skipped_);
  }

 private:
  bool read(Record& record, Keep keep) {
    try {
      record = rows_.record(keep);
      found_ = true;
      return true;
    } catch (const std::invalid_argument& error) {
      skip(std::string("is no Record: ") + error.what(), true);
      return false;
    }
  }

  void skip(const std::string& why, bool is_foreign) {
    const SkippedLine line{lines_.number(), why};
    skipped_.add(line);
    if (is_foreign && foreign_.number == 0) foreign_ = line;
    if (skipped_.count >= kTriedLines) refuse_foreign();
  }

  void refuse_foreign() const {
    if (found_ || foreign_.number == 0) return;
    throw std::runtime_error(path_ + ":" + std::to_string(foreign_.number) + ": this line " +
                             foreign_.why);
  }

  std::string path_;
  LineReader lines_;
  RecordReader rows_;
  SkippedLines skipped_;
  SkippedLine foreign_;  // the first line that is not even a torn Record
  bool found_ = false;   // a Record
};

}  // namespace

void SkippedLines::add(SkippedLine line) {
  ++count;
  if (first.size() < kNamed) first.push_back(std::move(line));
}

std::vector<std::string> in_words(const SkippedLines& skipped, const std::string& path) {
  std::vector<std::string> lines;
  for (const SkippedLine& line : skipped.first) {
    lines.push_back(path + ": line " + std::to_string(line.number) + " " + line.why +
                    " and is passed over");
  }
  const int64_t more = skipped.count - static_cast<int64_t>(skipped.first.size());
  if (more > 0) {
    lines.push_back(path + ": " + std::to_string(more) + " more lines are passed over");
  }
  return lines;
}

std::vector<Record> read_records(const std::string& path, SkippedLines* skipped) {
  RecordLines lines(path);
  std::vector<Record> records;
  Record record;
  while (lines.next(record, Keep::kWhole)) records.push_back(std::move(record));
  SkippedLines passed = lines.finish();
  if (skipped != nullptr) *skipped = std::move(passed);
  return records;
}

LatestRecords read_latest_records(const std::string& path, Keep keep) {
  struct Last {
    uint64_t run;
    size_t place;
  };
  RecordLines lines(path);
  LatestRecords latest;
  std::unordered_map<uint64_t, Last> last_of_settings;
  Record record;
  while (lines.next(record, keep)) {
    const RowFingerprint row = lines.fingerprint();
    const Last here{row.run, latest.records.size()};
    const auto [last, is_new] = last_of_settings.try_emplace(row.settings, here);
    if (!is_new && last->second.run == row.run) {
      latest.records[last->second.place] = std::move(record);
      ++latest.replaced;
      continue;
    }
    last->second = here;
    latest.records.push_back(std::move(record));
  }
  latest.skipped = lines.finish();
  return latest;
}

}  // namespace headroom
