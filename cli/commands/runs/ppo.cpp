// headroom ppo: measures PPO iterations phase by phase and compares them with computed figures.
#include "bench/launch/cell.h"
#include "bench/process/interrupt.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/commands/runs/one_cell.h"
#include "cli/exit_code.h"
#include "cli/flags/runs/ppo_flags.h"
#include "cli/flags/runs/run_flags.h"
#include "cli/flags/setup_file.h"
#include "cli/flags/timeline_flag.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "files/atomic_file.h"
#include "plan/ppo/computed.h"
#include "plan/ppo/drawing.h"
#include "plan/ppo/report.h"
#include "plan/remedies/trials.h"
#include "profiling/report/out_of_memory.h"

namespace headroom {
namespace {

std::vector<Flag> all_flags() {
  std::vector<Flag> flags = ppo_flags();
  for (Flag& flag : limit_flags()) flags.push_back(std::move(flag));
  flags.push_back(timeline_flag());
  flags.push_back({"format", "WORD", "table, csv, md; json or jsonl: the Record itself", "Other"});
  return flags;
}

CommandLine ppo_command_line() {
  return {
      "ppo --model-size NAME [flags]",
      "Runs PPO iterations in a separate process: generation with a cache, scoring, training\n"
      "of actor and critic. Prints the memory of each phase, role by role, beside the computed\n"
      "memory; on the CPU also scores. --batch-size is the number of sequences per iteration.",
      all_flags()};
}

using Computed = std::optional<ComputedIteration>;

// The computed figures to compare with the measured phases; none for a warm-up's phases, see its
// note.
Computed computed_beside(const Record& record, const PpoSetup& setup) {
  if (record.ppo && record.ppo->of_warm_up) return std::nullopt;
  return computed_iteration(record.spec, setup);
}

void print_report(const Record& record, const Computed& computed,
                  const std::vector<TriedRemedy>& tried, TableFormat format) {
  std::vector<Table> tables = ppo_report(record, computed);
  if (record.out_of_memory && record.out_of_memory->refusal) {
    tables.push_back(out_of_memory_table(*record.out_of_memory));
  }
  if (record.out_of_memory && !record.out_of_memory->components.empty()) {
    tables.push_back(live_table(*record.out_of_memory));
  }
  if (!tried.empty()) tables.push_back(remedies_table(tried));
  const std::optional<Timeline> timeline = ppo_timeline(record, computed);
  if (format != TableFormat::kText || !timeline) return print_tables(tables, format);
  const TextStyle style{
      .ascii = !locale_is_utf8(), .colour = takes_colour(), .width = page_width()};
  print(to_string(tables, format, style.width) + "\n" + drawing(*timeline, style));
}

void write_svg(const Record& record, const Computed& computed, const std::string& path) {
  const std::optional<Timeline> timeline = ppo_timeline(record, computed);
  if (!timeline) return;
  write_file_atomically(path,
                        svg(*timeline, "Memory of a PPO iteration: " + row_name(record.spec)));
}

int run_iterations(const Arguments& typed) {
  const Arguments arguments = with_setup_file(typed, all_flags());
  const PpoRun run = ppo_run_from(arguments);
  const std::string format = format_from(arguments);
  const std::string output = timeline_file_from(arguments);
  CellOptions options = limits_from(arguments);
  options.on_talk = log_line;
  options.ppo = run.setup;
  if (!run.shared.snapshot.empty()) check_writable(run.shared.snapshot);
  if (!output.empty()) check_writable(output);
  check_cell_program(options);
  Record record;
  std::vector<TriedRemedy> tried;
  {
    const InterruptGuard guard;  // ^C ends the cell here, elsewhere the program
    record = run_cell(run.shared, options);
    if (interrupted()) return log_interrupted();
    log_failure(record);
    if (record.status == Status::kOom) {
      tried = try_remedies(record, options, log_line);
      record.notes.push_back(interrupted() ? "the search for a remedy was interrupted"
                                           : conclusion(tried));
    }
  }
  for (const std::string& note : record.notes) log_line(note);
  const bool prints_record = is_record_format(format);
  Computed computed;
  if (!prints_record || !output.empty()) computed = computed_beside(record, run.setup);
  if (!output.empty()) write_svg(record, computed, output);
  if (prints_record) {
    print(to_json_line(record) + "\n");
  } else {
    print_report(record, computed, tried, parse_table_format("--format", format));
  }
  return exit_code_of(record);
}

}  // namespace

int run_ppo_command(int argc, char** argv) {
  return parse_and_run(ppo_command_line(), argc, argv, run_iterations);
}

}  // namespace headroom
