#include "bench/launch/cell.h"

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "bench/launch/cell_process.h"
#include "bench/launch/lone_ranks.h"
#include "bench/launch/ranks.h"
#include "bench/process/program_folder.h"
#include "files/replace_file.h"
#include "profiling/record_reader.h"
#include "text/quantity.h"
#include "train/offload/disk/state_directory.h"
#include "train/ppo/role_rules.h"

namespace headroom {
namespace {

// See Note [Names of files in a request].
void name_files_as_typed(const RunSpec& spec, Record& record) {
  for (const Field& field : fields()) {
    if (field.is_file()) field.set(record.spec, field.get(spec));
  }
}

// A process that was killed could not remove the files of its states.
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

// The cells of one process, as their Records come.
class CellsOfOneProcess {
 public:
  CellsOfOneProcess(const std::vector<RunSpec>& specs, const CellOptions& options,
                    const std::function<void(Record)>& on_record)
      : specs_(specs), on_record_(on_record), process_(specs.front(), options) {}

  void run() {
    process_.run(specs_, [this](const std::string& line) { hear(line); });
    // It ends itself after a Record of a failure; any other end costs the cell that it was at.
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
  bool spoilt_ = false;  // its last Record says that it failed
  std::string problem_;  // with a line that should have been a Record
  Clock::time_point begin_ = Clock::now();
};

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
  return together ? run_ranks(spec, options) : run_lone_ranks(spec, options);
}

Record run_one(const RunSpec& spec, const CellOptions& options) {
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
    // A Record on stdout is whole or does not parse; how the process ended after it is a note.
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

void run_cells(const std::vector<RunSpec>& specs, const CellOptions& options,
               const std::function<void(Record record)>& on_record) {
  check_one_process(specs);
  CellsOfOneProcess(specs, options, on_record).run();
}

void check_one_process(const std::vector<RunSpec>& specs) {
  for (const RunSpec& spec : specs) {
    if (spec.mesh.ranks() > 1) {
      throw UsageError("--one-process", "true",
                       "is one process, and --mesh " + to_string(spec.mesh) + " is " +
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
