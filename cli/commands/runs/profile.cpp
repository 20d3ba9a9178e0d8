// headroom profile: one cell, measured and explained.
#include "bench/launch/cell.h"
#include "bench/launch/preparation/alloc_confs.h"
#include "bench/launch/preparation/compiled_regions.h"
#include "bench/process/interrupt.h"
#include "bench/sweep/sweep.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/commands/runs/one_cell.h"
#include "cli/commands/runs/peak_limit.h"
#include "cli/exit_code.h"
#include "cli/flags/runs/rank_flag.h"
#include "cli/flags/runs/run_flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/run_progress.h"
#include "files/atomic_file.h"
#include "profiling/report/report.h"
#include "profiling/report/snapshots/watch.h"
#include "profiling/theory/activations/layers/attention_kernel.h"
#include "text/quantity.h"
#include "train/offload/disk/places.h"
#include "train/resume/check_places.h"

namespace headroom {
namespace {

CommandLine profile_command_line() {
  std::vector<Flag> flags = joined(cell_flags(), limit_flags());
  flags.push_back(rank_flag());
  flags.push_back(disk_rate_flag());
  flags.push_back({"watch", "",
                   "live bytes after each measured step and the allocations that grow; on a\n"
                   "virtual card also which --alloc-conf reserves less (in tables, not in json)",
                   to_string(FieldGroup::kMeasurement)});
  flags.push_back(PeakLimit::flag());
  flags.push_back({"format", "WORD", "table, csv, md; json or jsonl: the Record itself", "Other"});
  return {"profile --model-size NAME [flags]",
          "Runs one configuration in a separate process and prints its memory: peaks, peak per\n"
          "phase, allocations live at the peak and tensors saved for backward, beside the theory;\n"
          "and step times.",
          flags};
}

// Growth shows over steps, and its source only after later steps that could have freed it.
void settle_watch(const Arguments& arguments, RunSpec& spec) {
  constexpr int64_t kRecorded = 3;
  if (!arguments.has("watch")) return;
  if (spec.measure_steps < 2) {
    throw UsageError("--measure-steps", std::to_string(spec.measure_steps),
                     "shows no growth; allowed with --watch: 2 or more", "--measure-steps 20");
  }
  if (!arguments.has("record-steps")) spec.record_steps = kRecorded;
  if (spec.record_steps < kRecorded) {
    throw UsageError("--record-steps", std::to_string(spec.record_steps),
                     "is too small to see growth; allowed with --watch: 3 or more",
                     "--record-steps 3");
  }
  if (spec.stacks == Stacks::kNone) {
    throw UsageError("--stacks", "none",
                     "gives no source lines of growing allocations; allowed with --watch: cpp",
                     "--stacks cpp");
  }
}

// Runs the same steps with other allocator settings. `record`: with the requested setting.
Table tried_settings(const Record& record, CellOptions options) {
  std::vector<Record> records = {record};
  options.watches = false;
  for (const std::string& conf : tried_alloc_confs()) {
    if (interrupted()) break;
    if (conf == record.spec.alloc_conf) continue;
    options.on_progress = RunProgress("trying --alloc-conf " + conf);
    RunSpec spec = record.spec;
    spec.alloc_conf = conf;
    spec.record_steps = 0;
    spec.snapshot.clear();
    spec.save_weights.clear();
    spec.save_checkpoint.clear();
    records.push_back(run_cell(spec, options));
  }
  return settings_table(records);
}

// Refuses what would fail after the run.
void check_before_the_run(const RunSpec& spec, const CellOptions& options) {
  for (const std::string& path : {spec.snapshot, spec.save_weights}) {
    if (!path.empty()) check_writable(path);
  }
  check_disk_places({spec});
  check_checkpoint_places(spec);
  check_cell_program(options);
  check_alloc_confs({spec}, options);
}

// Adds the key under which resuming finds the Record, and a note where --device was chosen.
void complete(Record& record, const Arguments& arguments, const RunSpec& spec) {
  if (record.environment.contains("build")) {
    const auto conditions = result_conditions(record.spec);
    record.environment["key"] = result_key(record.spec, record.environment, conditions);
    record.environment["conditions"] = conditions;
  }
  if (arguments.get("device", "auto") == "auto" && is_virtual(spec)) {
    record.notes.push_back("no NVIDIA card here, so --device auto is " + to_string(spec.device) +
                           "; --device cpu gives values and times");
  }
}

int profile_cell(const Arguments& arguments) {
  RunSpec spec = cell_from(arguments);
  settle_watch(arguments, spec);
  check_attention(spec);
  const std::string format = format_from(arguments);
  const DiskRate disk_rate = disk_rate_from(arguments, spec);
  CellOptions options = limits_from(arguments);
  options.ranks = rank_choice_from(arguments, spec);
  options.on_talk = log_line;
  options.watches = arguments.has("watch");
  const PeakLimit peak_limit(arguments, spec);
  check_before_the_run(spec, options);
  options.on_progress = RunProgress(row_name(spec));
  bool was_interrupted = false;
  Record record;
  std::vector<Table> settings;
  {
    const InterruptGuard guard;  // ^C ends the cell here, elsewhere the program
    compile_regions({spec}, options);
    if (!interrupted()) record = run_cell(spec, options);
    const bool tries =
        options.watches && is_virtual(spec) && record.peak && !is_record_format(format);
    if (tries && !interrupted()) settings.push_back(tried_settings(record, options));
    was_interrupted = interrupted();
  }
  log_status("");
  if (was_interrupted) return log_interrupted();
  peak_limit.take_back(record);
  complete(record, arguments, spec);
  log_failure(record);
  if (is_record_format(format)) {
    print(to_json_line(record) + "\n");
  } else {
    std::vector<Table> tables = profile_report(record, disk_rate);
    tables.insert(tables.end(), settings.begin(), settings.end());
    print_tables(tables, parse_table_format("--format", format));
  }
  return peak_limit.exit_code(record).value_or(exit_code_of(record));
}

}  // namespace

int run_profile_command(int argc, char** argv) {
  return parse_and_run(profile_command_line(), argc, argv, profile_cell);
}

}  // namespace headroom
