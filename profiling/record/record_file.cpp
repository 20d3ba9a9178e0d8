#include "profiling/record/record_file.h"

#include <algorithm>
#include <cstdint>
#include <deque>
#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "files/line_reader.h"

namespace headroom {
namespace {

constexpr int64_t kTriedLines = 1000;
constexpr const char* kTorn = "is torn (its writer was killed, or the disk was full)";
constexpr const char* kNoJson = "is no JSON";
constexpr const char* kTooLarge = "is no Record: it has a number that is too large";
constexpr const char* kNoRecord = "is no Record: schema_version, status or spec is missing";

bool is_blank(std::string_view line) {
  return line.find_first_not_of(" \t\r") == std::string_view::npos;
}

bool has_too_large_number(std::string_view line) {
  try {
    [[maybe_unused]] const nlohmann::json parsed = nlohmann::json::parse(line);
  } catch (const nlohmann::json::out_of_range&) {
    return true;
  } catch (const nlohmann::json::exception&) {
  }
  return false;
}

// The reason why a line cannot be read as JSON.
std::string problem_of(std::string_view line) {
  if (line.find_first_not_of('\0') == std::string_view::npos) return "is NULs only";
  if (has_too_large_number(line)) return kTooLarge;
  return line.front() == '{' || line.front() == '\0' ? kTorn : kNoJson;
}

// Reads lines, and counts those without a Record.
class RecordLines {
 public:
  explicit RecordLines(const std::string& path) : path_(path), lines_(path) {}

  // Adds the Record of the next line that has one. rows_ keeps that line parsed.
  bool next(std::vector<Record>& records, Keep keep) {
    std::string_view line;
    while (lines_.next(line)) {
      if (lines_.cut_off()) {
        skip("is longer than 64 MiB", true);
        continue;
      }
      if (is_blank(line)) continue;
      if (!rows_.parse(line)) {
        const std::string why = problem_of(line);
        skip(why, why == kNoJson || why == kTooLarge);
      } else if (!rows_.is_record()) {
        skip(kNoRecord, true);
      } else if (read(records, keep)) {
        return true;
      }
    }
    return false;
  }

  RowFingerprint fingerprint() const { return rows_.fingerprint(); }

  // The skipped lines, at the end. Throws if no Record was found and some line is foreign.
  SkippedLines finish() {
    refuse_foreign();
    return std::move(skipped_);
  }

 private:
  bool read(std::vector<Record>& records, Keep keep) {
    make_room(records);
    records.emplace_back();
    try {
      rows_.read(keep, records.back());
      found_ = true;
      return true;
    } catch (const std::invalid_argument& error) {
      records.pop_back();
      skip(std::string("is no Record: ") + error.what(), true);
      return false;
    }
  }

  // Reserves room for the whole file's Records, by the part read so far: doubling would copy them
  // all and hold them twice.
  void make_room(std::vector<Record>& records) const {
    constexpr size_t kFew = 1024;
    const size_t count = records.size();
    if (count < kFew || count < records.capacity()) return;
    const double rest = static_cast<double>(lines_.size()) / static_cast<double>(lines_.given());
    const double whole = std::clamp(1.02 * rest, 1.25, 1e6) * static_cast<double>(count);
    records.reserve(static_cast<size_t>(whole));
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

// The place of the last row of each settings. A row takes 16 bytes and its slots 8 to 16, where
// std::unordered_map takes 60.
class LastOfSettings {
 public:
  // The place of the previous row of these settings if it is of the same run, otherwise a new
  // place.
  size_t place_of(const RowFingerprint& row) {
    if (2 * (rows_.size() + 1) > places_.size()) grow();
    uint32_t& last = places_[slot_of(row.settings)];
    if (last != kNone && rows_[last].run == row.run) return last;
    last = static_cast<uint32_t>(rows_.size());
    rows_.push_back({row.settings, row.run});
    return last;
  }

 private:
  static constexpr uint32_t kNone = std::numeric_limits<uint32_t>::max();
  struct Row {
    uint64_t settings;
    uint64_t run;
  };

  // The slot of these settings, or the free slot for them.
  size_t slot_of(uint64_t settings) const {
    const size_t mask = places_.size() - 1;
    size_t slot = settings & mask;
    while (places_[slot] != kNone && rows_[places_[slot]].settings != settings) {
      slot = (slot + 1) & mask;
    }
    return slot;
  }

  void grow() {
    places_.assign(std::max<size_t>(64, 2 * places_.size()), kNone);
    for (size_t place = 0; place < rows_.size(); ++place) {
      places_[slot_of(rows_[place].settings)] = static_cast<uint32_t>(place);
    }
  }

  std::deque<Row> rows_;          // by place
  std::vector<uint32_t> places_;  // slots; a power of two, at most half of them taken
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
  while (lines.next(records, Keep::kWhole)) continue;
  SkippedLines passed = lines.finish();
  if (skipped != nullptr) *skipped = std::move(passed);
  return records;
}

LatestRecords read_latest_records(const std::string& path, Keep keep) {
  RecordLines lines(path);
  LatestRecords latest;
  LastOfSettings last_of_settings;
  std::vector<Record>& records = latest.records;
  while (lines.next(records, keep)) {
    const size_t place = last_of_settings.place_of(lines.fingerprint());
    if (place + 1 == records.size()) continue;
    records[place] = std::move(records.back());
    records.pop_back();
    ++latest.replaced;
  }
  latest.skipped = lines.finish();
  return latest;
}

}  // namespace headroom
