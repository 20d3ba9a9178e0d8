#include "bench/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "bench/launch/preparation/compiled_regions.h"
#include "bench/launch/ranks/ranks.h"
#include "bench/process/interrupt.h"
#include "bench/sweep/forecast.h"
#include "bench/sweep/lanes.h"
#include "bench/sweep/record_log.h"
#include "bench/sweep/resume.h"
#include "bench/sweep/rows_in_order.h"
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

// Two cells must not write the same file: the later would replace the earlier one's. A cell must
// not write a file that another reads, nor the Records.
void check_files(const std::vector<RunSpec>& specs, const std::string& records_path) {
  std::map<FileIdentity, const RunSpec*> writers;
  std::map<std::string, NamedFile> read;  // by path: all cells of a grid read the same
  std::vector<NamedFile> written;
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
  if (!records_path.empty()) written.push_back({"--records", records_path});
  std::vector<NamedFile> inputs;
  for (const auto& [path, file] : read) inputs.push_back(file);
  check_apart(inputs, written);
}

// The cell program's identity; nothing after ^C.
std::optional<json> identity_unless_interrupted(const CellOptions& options, const RunSpec& first) {
  const InterruptGuard guard;
  try {
    json identity = cell_identity(options, first);
    if (!interrupted()) return identity;
  } catch (const std::runtime_error&) {
    if (!interrupted()) throw;
  }
  return std::nullopt;
}

struct Cell {
  const RunSpec* spec;
  nlohmann::json conditions;
  std::string key;
  std::optional<Record> record;

  void set_key(const json& identity, const Before& before) {
    conditions = result_conditions(*spec, before);
    key = result_key(*spec, identity, conditions);
  }
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

class Sweep {
 public:
  Sweep(const std::vector<RunSpec>& specs, json identity, const SweepOptions& options,
        std::shared_ptr<WarmWorkers> workers)
      : options_(options), identity_(std::move(identity)), workers_(std::move(workers)) {
    if (!options.records_path.empty()) {
      log_ = std::make_unique<RecordLog>(options.records_path, options.on_progress);
    }
    cells_.reserve(specs.size());
    for (const RunSpec& spec : specs) {
      cells_.push_back({&spec, {}, {}, {}});
      set_key(cells_.size() - 1, options.one_process ? 0 : cells_.size() - 1);
    }
    if (options.resume && log_) reuse();
    to_run_ = cells_.size() - static_cast<size_t>(result_.reused);
  }

  SweepResult run() {
    const InterruptGuard guard;
    if (options_.one_process) {
      run_in_one_process();
    } else {
      run_each();
    }
    result_.interrupted = interrupted();
    for (Cell& cell : cells_) {
      if (cell.record) result_.records.push_back(std::move(*cell.record));
    }
    return std::move(result_);
  }

 private:
  // For a cell in a process that began with the cell `first`.
  void set_key(size_t i, size_t first) {
    cells_[i].set_key(identity_, i == first ? Before{} : Before{i - first, cells_[i - 1].key});
  }

  void reuse() {
    const EarlierRows rows(log_->earlier());
    for (Cell& cell : cells_) {
      const Record* old = rows.find(cell.key, *cell.spec, options_.cell.host_memory_bytes);
      if (old == nullptr) continue;
      cell.record = *old;
      ++result_.reused;
    }
    if (result_.reused == 0) return;
    const bool is_whole = result_.reused == static_cast<int>(cells_.size());
    std::string line = std::to_string(result_.reused) + " of " + std::to_string(cells_.size()) +
                       " Records are already in " + options_.records_path;
    if (options_.one_process && !is_whole) {
      for (Cell& cell : cells_) cell.record.reset();
      result_.reused = 0;
      line += "; all cells run again, because in one process a cell depends on those before it";
    }
    say(line);
  }

  void run_each() {
    std::vector<size_t> places;
    std::vector<const RunSpec*> specs;
    for (size_t i = 0; i < cells_.size(); ++i) {
      if (cells_[i].record) continue;
      places.push_back(i);
      specs.push_back(cells_[i].spec);
    }
    const std::vector<Stage> stages = plan_lanes(specs, options_.jobs);
    const size_t at_once = most_at_once(stages);
    forecast_ = Forecast(at_once);
    if (places.size() > 1) forks_ = forks_of_cells();
    if (at_once > 1) {
      for (const size_t i : places) {
        if (is_virtual(*cells_[i].spec)) rows_.expect(i);
      }
    }
    run_stages(
        stages,
        [&](size_t cell) {
          const size_t i = places[cell];
          const auto start = Clock::now();
          Record record = run_cell(*cells_[i].spec, telling(i));
          finish(i, std::move(record), seconds_since(start));
        },
        interrupted);
    rows_.finish();
    workers_.reset();
    forks_.reset();
  }

  void run_in_one_process() {
    if (cells_.front().record) return;  // then all are reused
    for (size_t next = 0; next < cells_.size() && !interrupted();) {
      const size_t first = next;
      std::vector<RunSpec> specs;
      for (size_t i = first; i < cells_.size(); ++i) specs.push_back(*cells_[i].spec);
      auto start = Clock::now();
      run_cells(specs, telling(next), [&](Record record) {
        set_key(next, first);
        finish(next, std::move(record), seconds_since(start));
        start = Clock::now();
        ++next;
      });
      if (next < cells_.size() && !interrupted()) {
        say("the process ended with " + row_name(*cells_[next - 1].spec) + "; " +
            std::to_string(cells_.size() - next) + " cells continue in a new one");
      }
    }
  }

  // Options that report the cell's progress and output; `i` is read at each report. Thread-safe.
  CellOptions telling(const size_t& i) {
    CellOptions options = options_.cell;
    options.workers = workers_;
    options.forks = forks_;
    if (options_.on_status) {
      options.on_progress = [this, &i](const Progress& progress) { status(i, progress); };
    }
    if (options_.cell.on_talk) {
      options.on_talk = [this](const std::string& line) {
        const std::lock_guard lock(mutex_);
        options_.cell.on_talk(line);
      };
    }
    return options;
  }

  void finish(size_t i, Record record, double seconds) {
    if (interrupted() && record.status == Status::kKilled) return;  // killed by us: not a result
    if (!options_.marks.empty()) record.environment["cell"]["shard"] = options_.marks[i];
    record.environment["key"] = cells_[i].key;
    record.environment["conditions"] = cells_[i].conditions;
    record.environment["identity"] = identity_;
    const std::lock_guard lock(mutex_);
    cells_[i].record = std::move(record);
    rows_.ended(i);
    forecast_.add(seconds);
    ++done_;
    progress(i, *cells_[i].record, seconds);
  }

  // ", ETA 40 s": the time until all cells have ended.
  std::string eta() const {
    const auto seconds = forecast_.left(to_run_ - done_);
    return seconds ? ", ETA " + eta_text(*seconds) : "";
  }

  // Reports a running cell.
  void status(size_t i, const Progress& progress) {
    const std::lock_guard lock(mutex_);
    std::string line = "cell " + std::to_string(i + 1) + " of " + std::to_string(cells_.size()) +
                       ": " + row_name(*cells_[i].spec);
    line += progress.step > 0 ? ", step " + std::to_string(progress.step) + " of " +
                                    std::to_string(progress.steps)
                              : ", " + progress.stage;
    options_.on_status(line + eta());
  }

  void progress(size_t i, const Record& record, double seconds) {
    std::string line = "[" + std::to_string(i + 1) + "/" + std::to_string(cells_.size()) + "] " +
                       row_name(*cells_[i].spec) + " " + to_string(record.status);
    if (record.peak) line += " " + format_bytes(record.peak->allocated);
    line += " " + seconds_text(seconds) + eta();
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
  std::shared_ptr<WarmWorkers> workers_;
  std::shared_ptr<ForkServers> forks_;
  std::mutex mutex_;  // for the file, the output, and the members below
  RowsInOrder rows_{[this](size_t i) {
    if (log_) log_->append(*cells_[i].record);
  }};
  size_t done_ = 0;
  Forecast forecast_{1};
};

// Keeps as many workers as cells run at once.
std::shared_ptr<WarmWorkers> workers_for(const std::vector<RunSpec>& specs, size_t jobs) {
  std::vector<const RunSpec*> cells;
  for (const RunSpec& spec : specs) cells.push_back(&spec);
  return std::make_shared<WarmWorkers>(most_at_once(plan_lanes(cells, jobs)));
}

}  // namespace

SweepResult run_sweep(const std::vector<RunSpec>& specs, const SweepOptions& options) {
  if (specs.empty()) throw UsageError("the sweep has no cell to run");
  for (const RunSpec& spec : specs) validate(spec);
  check_files(specs, options.records_path);
  if (options.one_process) check_one_process(specs);
  check_alloc_confs(specs, options.cell);
  compile_regions(specs, options.cell);
  CellOptions asked = options.cell;
  if (options.warm && !options.one_process) asked.workers = workers_for(specs, options.jobs);
  std::optional<json> identity = identity_unless_interrupted(asked, specs.front());
  if (!identity) {
    SweepResult nothing;
    nothing.interrupted = true;
    return nothing;
  }
  return Sweep(specs, std::move(*identity), options, std::move(asked.workers)).run();
}

int exit_code(const SweepResult& result) {
  if (result.interrupted) return kInterruptedExitCode;
  const auto is_ok = [](const Record& record) { return record.status == Status::kOk; };
  const auto ok = std::count_if(result.records.begin(), result.records.end(), is_ok);
  if (ok == static_cast<int64_t>(result.records.size())) return 0;
  return ok == 0 ? 4 : 3;
}

}  // namespace headroom
