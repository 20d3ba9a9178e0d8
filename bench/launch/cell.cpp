#include "bench/launch/cell.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "bench/launch/cell_process.h"
#include "bench/launch/ranks/isolated_ranks.h"
#include "bench/launch/ranks/ranks.h"
#include "bench/process/program_folder.h"
#include "files/replace_file.h"
#include "profiling/record/record_reader.h"
#include "text/quantity.h"
#include "train/offload/disk/state_directory.h"
#include "train/ppo/setup/role_rules.h"

namespace headroom {
namespace {

// See Note [Names of files in a request].
void name_files_as_typed(const RunSpec& spec, Record& record) {
  for (const Field& field : fields()) {
    if (field.is_file()) field.set(record.spec, field.get(spec));
  }
}

// A killed process could not remove its state files.
void remove_states(const RunSpec& spec, Record& record) {
  if (spec.optimizer_offload.space != MemorySpace::kDisk || is_virtual(spec)) return;
  const std::string& directory = spec.optimizer_offload.directory;
  try {
    StateDirectory::remove(directory);
  } catch (const WriteError& error) {
    record.notes.push_back("files of its states may be left in " + directory + ": " + error.what());
  }
}

Record explained(const CellProcess& process, const RunSpec& spec, const std::string& problem) {
  Record record = process.explained(spec, problem);
  std::vector<RunSpec> specs = {spec};
  if (process.options().ppo) specs = role_specs(spec, *process.options().ppo);
  for (const RunSpec& one : specs) remove_states(one, record);
  return record;
}

// Runs the cells of one process, and hands out their Records as they arrive.
class CellsOfOneProcess {
 public:
  CellsOfOneProcess(const std::vector<RunSpec>& specs, const CellOptions& options,
                    const std::function<void(Record)>& on_record)
      : specs_(specs), on_record_(on_record), process_(specs.front(), options) {}

  void run() {
    process_.run(specs_, [this](const std::string& line) { hear(line); });
    // It ends by itself after a failed Record; any other end loses the current cell.
    const bool by_itself = handed_out_ > 0 && spoilt_ && process_.end().empty();
    if (handed_out_ < specs_.size() && !by_itself) {
      hand_out(explained(process_, specs_[handed_out_], problem_));
    }
  }

 private:
  using Clock = std::chrono::steady_clock;

  void hear(const std::string& line) {
    if (handed_out_ == specs_.size() || !problem_.empty()) return;
    Record record;
    try {
      record = record_from_line(line);
    } catch (const std::exception& error) {
      problem_ = error.what();
      return;
    }
    name_files_as_typed(specs_[handed_out_], record);
    spoilt_ = record.status == Status::kFailed;
    hand_out(std::move(record));
  }

  void hand_out(Record record) {
    const auto now = Clock::now();
    process_.complete(record, std::chrono::duration<double>(now - begin_).count(), true,
                      handed_out_);
    begin_ = now;
    ++handed_out_;
    on_record_(std::move(record));
  }

  const std::vector<RunSpec>& specs_;
  const std::function<void(Record)>& on_record_;
  CellProcess process_;
  size_t handed_out_ = 0;
  bool spoilt_ = false;  // its last Record has the status failed
  std::string problem_;  // of a line that is not a valid Record
  Clock::time_point begin_ = Clock::now();
};

// True if we or another process killed the worker. A crash is not a kill: the cell then runs again
// in its own process.
bool was_killed(const Outcome& outcome) {
  return outcome.timed_out || outcome.interrupted || outcome.signal == SIGKILL;
}

bool ran_out_of_host_memory(const Record& record) {
  return record.out_of_memory && record.out_of_memory->memory != to_string(MemorySpace::kDevice);
}

// Runs by a warm worker. Nothing if the cell must run in its own process.
std::optional<Record> served(const RunSpec& spec, const CellOptions& options) {
  CellProcess process(spec, options);
  const auto begin = std::chrono::steady_clock::now();
  std::unique_ptr<CellWorker> worker;
  std::optional<std::string> answer;
  do {
    worker = options.workers->take(process.program(), process.environment());
    answer = process.run_by(*worker, spec);
  } while (!answer && !worker->was_sent() && worker->answers() > 0);
  Record record;
  if (!answer) {
    if (!was_killed(process.outcome())) return std::nullopt;
    record = explained(process, spec, "");
  } else {
    try {
      record = record_from_line(*answer);
    } catch (const std::exception&) {
      return std::nullopt;  // it declined
    }
    if (to_json(record.spec) != to_json(spec)) return std::nullopt;  // answers are out of step
    const bool is_fresh = worker->answers() == 1;
    if (record.status == Status::kFailed && !is_fresh) return std::nullopt;
    if (record.status != Status::kFailed && !ran_out_of_host_memory(record)) {
      options.workers->give_back(std::move(worker));
    }
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  process.complete(record, seconds.count(), false, 0);
  return record;
}

// Runs in its own process.
Record run_alone(const RunSpec& spec, const CellOptions& options) {
  CellProcess process(spec, options);
  process.run({spec}, {});
  const Outcome& outcome = process.outcome();
  Record record;
  try {
    if (outcome.interrupted || outcome.output_too_long || !outcome.spawn_error.empty()) {
      throw std::invalid_argument("nothing");
    }
    record = record_from_line(only_line(outcome.output));
    name_files_as_typed(spec, record);
    // A Record on stdout is complete or does not parse; a bad end of the process is a note.
    if (const std::string end = process.end(); !end.empty()) {
      record.notes.push_back("the process ended after its Record by " + end);
    }
  } catch (const std::exception& error) {
    record = explained(process, spec, error.what());
  }
  if (!outcome.spawn_error.empty()) return record;
  process.complete(record, outcome.seconds, false, 0);
  record.environment["cell"]["pid"] = outcome.pid;
  record.environment["cell"]["max_rss_bytes"] = outcome.max_rss_bytes;
  return record;
}

}  // namespace

std::string cell_program(const CellOptions& options) {
  if (!options.program.empty()) return options.program;
  if (const char* program = getenv("HEADROOM_CELL"); program != nullptr && *program != '\0') {
    return program;
  }
  return program_folder() + "/headroom-cell";
}

Record run_cell(const RunSpec& spec, const CellOptions& options) {
  if (spec.mesh.ranks() == 1) return run_one(spec, options);
  if (is_launched_rank()) return run_launched_rank(spec, options);
  const bool together = options.ranks.kind == RankChoice::Kind::kAll;
  return together ? run_ranks(spec, options) : run_isolated_ranks(spec, options);
}

bool may_be_served(const RunSpec& spec, const CellOptions& options) {
  const bool is_alone = options.ranks.kind == RankChoice::Kind::kListed;  // each rank by itself
  if (!options.workers || !is_virtual(spec) || options.watches || options.stop != nullptr) {
    return false;
  }
  if (!is_alone && (spec.mesh.ranks() > 1 || !options.environment.empty())) return false;
  if (spec.optimizer_offload.space == MemorySpace::kDisk) return false;
  return std::none_of(fields().begin(), fields().end(), [&](const Field& field) {
    return field.is_file() && !field.get(spec).empty();
  });
}

Record run_one(const RunSpec& spec, const CellOptions& options) {
  if (may_be_served(spec, options)) {
    if (std::optional<Record> record = served(spec, options)) return std::move(*record);
  }
  return run_alone(spec, options);
}

void run_cells(const std::vector<RunSpec>& specs, const CellOptions& options,
               const std::function<void(Record record)>& on_record) {
  check_one_process(specs);
  CellsOfOneProcess(specs, options, on_record).run();
}

void check_one_process(const std::vector<RunSpec>& specs) {
  for (const RunSpec& spec : specs) {
    if (spec.mesh.ranks() > 1) {
      throw UsageError("--one-process", "true",
                       "uses one process, and --mesh " + to_string(spec.mesh) + " needs " +
                           std::to_string(spec.mesh.ranks()) + "; allowed: without --mesh",
                       "--mesh dp=2");
    }
    const RunSpec& first = specs.front();
    const bool one_card = spec.device == first.device || (!is_virtual(spec) && !is_virtual(first));
    if (one_card && spec.alloc_conf == first.alloc_conf) continue;
    const auto text = [&](const RunSpec& of) {
      return one_card ? "--alloc-conf '" + of.alloc_conf + "'" : "--device " + to_string(of.device);
    };
    throw UsageError("--one-process: a process has one virtual card and one --alloc-conf, not " +
                     text(first) + " and " + text(spec) +
                     "; sweep them one by one (example: " + text(first) + ")");
  }
}

}  // namespace headroom
