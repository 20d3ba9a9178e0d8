// headroom theory: derives a configuration's memory tensor by tensor; nothing is run.
#include <algorithm>

#include "bench/launch/preparation/compiled_regions.h"
#include "bench/process/interrupt.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/flags/runs/run_flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "files/atomic_file.h"
#include "profiling/theory/ranks/rank_report.h"
#include "profiling/theory/report.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kRankExample = "--mesh dp=8 --rank 0";

// Other flags (seed, steps, files) and their aliases are unknown here.
bool changes_a_size(const Flag& flag) {
  if (const Field* field = find_flag("--" + flag.name)) return field->sizes;
  return flag.group != to_string(FieldGroup::kMeasurement);
}

CommandLine theory_command_line() {
  std::vector<Flag> flags = cell_flags();
  std::erase_if(flags, [](const Flag& flag) { return !changes_a_size(flag); });
  for (Flag& flag : flags) {
    if (flag.name == "profile-type") {
      flag.help =
          "kind of step whose tensors are listed; totals are of all four: forward, "
          "forward-grad, forward-backward, training (default training)";
    } else if (flag.name == "device") {
      flag.help = "cpu: autocast's CPU op list; any other: its CUDA op list (default auto)";
    }
  }
  flags.push_back(disk_rate_flag());
  flags.push_back({.name = "rank",
                   .value = "N",
                   .help = "rank of --mesh to compute (default 0)",
                   .group = "Output",
                   .example = kRankExample});
  flags.push_back({"format", "WORD", "text, csv, md, json (default text)", "Output"});
  flags.push_back({"output", "FILE", "file to write instead of stdout, completely or not at all",
                   "Output", FileUse::kWritten});
  return {
      "theory --model-size NAME [flags]",
      "Computes the memory of a configuration without running it: the residual-stream tensor,\n"
      "every tensor kept for backward with its derivation, states, totals per mode; with --mesh\n"
      "the peak of one rank and the traffic of its collectives.",
      flags};
}

int64_t rank_from(const Arguments& arguments, const RunSpec& spec) {
  const std::string text = arguments.get("rank", "0");
  if (arguments.has("rank") && spec.mesh.ranks() == 1) {
    throw UsageError("--rank", text, "needs a mesh, and this run has none; allowed with --mesh",
                     kRankExample);
  }
  return parse_integer("--rank", text, 0, spec.mesh.ranks() - 1);
}

int write_theory(Arguments arguments) {
  const TableFormat format = parse_table_format("--format", arguments.get("format", "text"));
  const std::string output = arguments.get("output");
  if (!output.empty()) check_writable(output);
  arguments.values.erase("output");  // cell_from() would read it as the snapshot
  arguments.values.try_emplace("profile-type", "training");
  const RunSpec spec = cell_from(arguments);
  const int64_t rank = rank_from(arguments, spec);
  CellOptions options;
  options.on_talk = log_line;
  {
    const InterruptGuard guard;  // ^C ends the compiler here, elsewhere the program
    compile_regions({spec}, options);
    if (interrupted()) return kExitInterrupted;
  }
  print_tables(spec.mesh.ranks() > 1 ? rank_theory_report(spec, rank)
                                     : theory_report(spec, disk_rate_from(arguments, spec)),
               format, output);
  return kExitOk;
}

}  // namespace

int run_theory_command(int argc, char** argv) {
  return parse_and_run(theory_command_line(), argc, argv, write_theory);
}

}  // namespace headroom
