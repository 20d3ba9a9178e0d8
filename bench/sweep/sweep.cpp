#include "bench/sweep/sweep.h"

#include <sys/stat.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench/process/interrupt.h"
#include "bench/sweep/record_log.h"
#include "files/same_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using nlohmann::json;

std::string seconds_text(double seconds) {
  std::array<char, 32> text{};
  snprintf(text.data(), text.size(), seconds < 100 ? "%.1f s" : "%.0f s", seconds);
  return text.data();
}

// Two cells must not write one file: the later would replace the earlier one's. Nor may a cell
// write what another reads, or the Records.
void check_files(const std::vector<RunSpec>& specs, const std::string& records_path) {
  std::map<FileIdentity, const RunSpec*> writers;
  std::map<std::string, NamedFile> read;  // by path: all cells of a grid read the same
  std::vector<NamedFile> written;
  if (!records_path.empty()) written.push_back({"--records", records_path});
  for (const RunSpec& spec : specs) {
    for (const Field& field : fields()) {
      const std::string path = field.is_file() ? field.get(spec) : "";
      if (path.empty()) continue;
      const NamedFile file{field.flag(), path};
      if (!field.writes_a_file()) {
        read.try_emplace(path, file);
        continue;
      }
      written.push_back(file);
      const auto identity = file_identity(path);
      if (!identity) continue;
      const auto [known, is_new] = writers.try_emplace(*identity, &spec);
      if (is_new || known->second == &spec) continue;
      throw UsageError(file.flag, path,
                       "would be written by two cells (" + row_name(*known->second) + " and " +
                           row_name(spec) + "); allowed: a file of its own for each cell",
                       file.flag + " " + row_name(spec) + ".out");
    }
  }
  std::vector<NamedFile> inputs;
  for (const auto& [path, file] : read) inputs.push_back(file);
  check_apart(inputs, written);
}

// What the cell program is; nothing after ^C.
std::optional<json> identity_unless_interrupted(const CellOptions& options) {
  const InterruptGuard guard;
  try {
    json identity = cell_identity(options);
    if (!interrupted()) return identity;
  } catch (const std::runtime_error&) {
    if (!interrupted()) throw;
  }
  return std::nullopt;
}

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

// As a Record's JSON holds it: the name of a file need not be UTF-8.
std::string as_stored(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

// Whether a Record of the same key also stands for what was written and for what was refused.
bool answers(const Record& old, const RunSpec& spec, int64_t host_memory_bytes) {
  if (old.status == Status::kOom) {
    // More memory may be enough now. Within 5 %, because what is available moves by itself.
    const int64_t had = old.environment.value("/cell/host_memory_bytes"_json_pointer, int64_t{0});
    return had == 0 || (host_memory_bytes != 0 &&
                        static_cast<double>(host_memory_bytes) <= static_cast<double>(had) * 1.05);
  }
  if (old.status != Status::kOk) return false;
  const bool writes_nothing = spec.snapshot.empty() && spec.save_weights.empty();
  if (writes_nothing) return true;
  // Not only the same paths: the same stacks and limits inside the snapshot.
  for (const Field& field : fields()) {
    if (!field.changes_result && as_stored(field.get(old.spec)) != as_stored(field.get(spec))) {
      return false;
    }
  }
  return (spec.snapshot.empty() || exists(spec.snapshot)) &&
         (spec.save_weights.empty() || exists(spec.save_weights));
}

struct Cell {
  const RunSpec* spec;
  std::string key;
  std::optional<Record> record;
};

class Sweep {
 public:
  Sweep(const std::vector<RunSpec>& specs, json identity, const SweepOptions& options)
      : options_(options), identity_(std::move(identity)) {
    if (!options.records_path.empty()) {
      log_ = std::make_unique<RecordLog>(options.records_path, options.on_progress);
    }
    cells_.reserve(specs.size());
    for (const RunSpec& spec : specs) cells_.push_back({&spec, result_key(spec, identity_), {}});
    if (options.resume) reuse();
    to_run_ = cells_.size() - static_cast<size_t>(result_.reused);
  }

  SweepResult run() {
    const InterruptGuard guard;
    for (size_t i = 0; i < cells_.size() && !interrupted(); ++i) {
      if (cells_[i].record) continue;
      const auto start = std::chrono::steady_clock::now();
      Record record = run_one(cells_[i], i);
      if (interrupted() && record.status == Status::kKilled) break;  // by us: not a result
      if (log_) log_->append(record);
      spent_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      ++done_;
      progress(i, record);
      cells_[i].record = std::move(record);
    }
    result_.interrupted = interrupted();
    for (Cell& cell : cells_) {
      if (cell.record) result_.records.push_back(std::move(*cell.record));
    }
    return std::move(result_);
  }

 private:
  void reuse() {
    if (!log_) return;
    std::map<std::string, std::vector<const Record*>> by_key;
    for (const Record& record : log_->earlier()) {
      if (!record.environment.is_object()) continue;
      const auto key = record.environment.find("key");
      if (key != record.environment.end() && key->is_string()) {
        by_key[key->get<std::string>()].push_back(&record);
      }
    }
    for (Cell& cell : cells_) {
      const auto found = by_key.find(cell.key);
      if (found == by_key.end()) continue;
      // The newest that answers.
      for (auto old = found->second.rbegin(); old != found->second.rend() && !cell.record; ++old) {
        if (answers(**old, *cell.spec, options_.cell.host_memory_bytes)) cell.record = **old;
      }
      if (cell.record) ++result_.reused;
    }
    if (result_.reused > 0) {
      say(std::to_string(result_.reused) + " of " + std::to_string(cells_.size()) +
          " Records are already in " + options_.records_path);
    }
  }

  Record run_one(const Cell& cell, size_t i) {
    CellOptions options = options_.cell;
    const auto start = std::chrono::steady_clock::now();
    if (options_.on_status) {
      options.on_progress = [&](const Progress& progress) { status(i, start, progress); };
    }
    Record record = run_cell(*cell.spec, options);
    record.environment["key"] = cell.key;
    record.environment["identity"] = identity_;
    return record;
  }

  // Cells that have not ended, here and in what the caller runs after this.
  size_t left() const { return std::max(to_run_, options_.cells_left) - done_; }

  // While a cell runs. Of the first one only its own end can be foretold.
  void status(size_t i, std::chrono::steady_clock::time_point start, const Progress& progress) {
    const auto now = std::chrono::steady_clock::now();
    const double here = std::chrono::duration<double>(now - start).count();
    std::string line = "cell " + std::to_string(i + 1) + " of " + std::to_string(cells_.size()) +
                       ": " + row_name(*cells_[i].spec);
    line += progress.step > 0 ? ", step " + std::to_string(progress.step) + " of " +
                                    std::to_string(progress.steps)
                              : ", " + progress.stage;
    if (done_ > 0) {
      const double all = spent_ / static_cast<double>(done_) * static_cast<double>(left());
      line += ", ETA " + eta_text(std::max(all - here, 0.0));
    }
    options_.on_status(line);
  }

  void progress(size_t i, const Record& record) {
    std::string line = "[" + std::to_string(i + 1) + "/" + std::to_string(cells_.size()) + "] " +
                       row_name(*cells_[i].spec) + " " + to_string(record.status);
    if (record.peak) line += " " + format_bytes(record.peak->allocated);
    line += " " + seconds_text(spent_ - spent_before_);
    spent_before_ = spent_;
    const size_t left = this->left();
    if (left > 0) {
      line += ", ETA " + eta_text(spent_ / static_cast<double>(done_) * static_cast<double>(left));
    }
    if (!record.reason.empty()) line += ": " + record.reason.substr(0, record.reason.find('\n'));
    say(line);
  }

  void say(const std::string& line) const {
    if (options_.on_progress) options_.on_progress(line);
  }

  const SweepOptions& options_;
  json identity_;
  std::unique_ptr<RecordLog> log_;
  std::vector<Cell> cells_;
  SweepResult result_;
  size_t to_run_ = 0;
  size_t done_ = 0;
  double spent_ = 0;  // seconds in the cells that ran, and before the last of them
  double spent_before_ = 0;
};

}  // namespace

SweepResult run_sweep(const std::vector<RunSpec>& specs, const SweepOptions& options) {
  if (specs.empty()) throw UsageError("the sweep has no cell to run");
  for (const RunSpec& spec : specs) validate(spec);
  check_files(specs, options.records_path);
  std::optional<json> identity = identity_unless_interrupted(options.cell);
  if (!identity) {
    SweepResult nothing;
    nothing.interrupted = true;
    return nothing;
  }
  return Sweep(specs, std::move(*identity), options).run();
}

int exit_code(const SweepResult& result) {
  if (result.interrupted) return kInterruptedExitCode;
  const auto is_ok = [](const Record& record) { return record.status == Status::kOk; };
  const auto ok = std::count_if(result.records.begin(), result.records.end(), is_ok);
  if (ok == static_cast<int64_t>(result.records.size())) return 0;
  return ok == 0 ? 4 : 3;
}

}  // namespace headroom
