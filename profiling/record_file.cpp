#include "profiling/record_file.h"

#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "files/line_reader.h"
#include "profiling/record_fingerprint.h"

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

// Throws std::invalid_argument on JSON that is no Record.
Record record_from_line(std::string_view line) {
  try {
    return record_from_json(nlohmann::json::parse(line));
  } catch (const nlohmann::json::exception& error) {
    throw std::invalid_argument(error.what());  // a field of another type
  }
}

// No table looks at these: half of a Record's memory.
void drop_what_no_table_prints(Record& record) {
  record.spaces.clear();
  record.phases.clear();
  record.phase_runs.clear();
  record.phase_order = {};
  record.residual_blocks = {};
  record.losses = {};
  record.notes = {};
  if (!record.environment.is_object()) return;
  for (const char* name : {"allocator_variables", "cell", "nvml", "virtual_card"}) {
    record.environment.erase(name);
  }
}

// Reads lines and keeps account of those that are none.
class RecordLines {
 public:
  explicit RecordLines(const std::string& path) : path_(path), reader_(path) {}

  // The next line that is a Record by its keys.
  bool next(std::string_view& line, RowFingerprint& fingerprint) {
    while (reader_.next(line)) {
      if (reader_.cut_off()) {
        skip("is longer than 64 MiB", true);
        continue;
      }
      if (is_blank(line)) continue;
      const auto found = fingerprints_.read(line);
      if (found && found->is_record) {
        ++found_;
        fingerprint = *found;
        return true;
      }
      const std::string why = found ? kNoRecord : problem_of(line);
      skip(why, found || why == kNoJson);
    }
    return false;
  }

  int64_t number() const { return reader_.number(); }

  // A line that next() gave, with a value that no Record has.
  void take_back(int64_t number, const std::string& problem) {
    --found_;
    const std::string why = "is no Record: " + problem;
    skipped_.add({number, why});
    remember_foreign(number, why);
  }

  // At the end: what was passed over. Throws where nothing was found and something is foreign.
  SkippedLines finish() {
    refuse_foreign();
    const auto by_number = [](const SkippedLine& a, const SkippedLine& b) {
      return a.number < b.number;
    };
    std::sort(skipped_.first.begin(), skipped_.first.end(), by_number);
    return std::move(skipped_);
  }

 private:
  void skip(const std::string& why, bool is_foreign) {
    skipped_.add({reader_.number(), why});
    if (is_foreign) remember_foreign(reader_.number(), why);
    if (skipped_.count >= kTriedLines) refuse_foreign();
  }

  void remember_foreign(int64_t number, const std::string& why) {
    if (foreign_.number == 0) foreign_ = {number, why};
  }

  void refuse_foreign() const {
    if (found_ > 0 || foreign_.number == 0) return;
    throw std::runtime_error(path_ + ":" + std::to_string(foreign_.number) + ": this line " +
                             foreign_.why);
  }

  std::string path_;
  LineReader reader_;
  FingerprintReader fingerprints_;
  SkippedLines skipped_;
  SkippedLine foreign_;  // the first line that is not even a torn Record
  int64_t found_ = 0;    // lines that are Records
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
  std::string_view line;
  RowFingerprint fingerprint;
  while (lines.next(line, fingerprint)) {
    try {
      records.push_back(record_from_line(line));
    } catch (const std::invalid_argument& error) {
      lines.take_back(lines.number(), error.what());
    }
  }
  SkippedLines passed = lines.finish();
  if (skipped != nullptr) *skipped = std::move(passed);
  return records;
}

LatestRecords read_latest_records(const std::string& path, Keep keep) {
  struct Kept {
    uint64_t run;
    int64_t number;
    std::string line;
  };
  RecordLines lines(path);
  LatestRecords latest;
  std::vector<Kept> kept;
  std::unordered_map<uint64_t, size_t> last_of_settings;  // -> its place in `kept`
  std::string_view line;
  RowFingerprint fingerprint;
  while (lines.next(line, fingerprint)) {
    const auto [last, is_new] = last_of_settings.try_emplace(fingerprint.settings, kept.size());
    if (!is_new && kept[last->second].run == fingerprint.run) {
      Kept& older = kept[last->second];
      older.number = lines.number();
      older.line.assign(line);
      ++latest.replaced;
      continue;
    }
    last->second = kept.size();
    kept.push_back({fingerprint.run, lines.number(), std::string(line)});
  }
  for (Kept& row : kept) {
    try {
      latest.records.push_back(record_from_line(row.line));
      if (keep == Keep::kForTables) drop_what_no_table_prints(latest.records.back());
    } catch (const std::invalid_argument& error) {
      lines.take_back(row.number, error.what());
    }
    row.line = std::string();
  }
  latest.skipped = lines.finish();
  return latest;
}

}  // namespace headroom
