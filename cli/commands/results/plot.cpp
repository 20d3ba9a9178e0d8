// headroom plot: one figure of Records or of a snapshot, for a write-up.
#include <algorithm>
#include <exception>
#include <string>
#include <vector>

#include "bench/process/child_process.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/log.h"
#include "cli/record_files.h"
#include "files/atomic_file.h"
#include "profiling/report/figures/chosen_axes.h"
#include "profiling/report/figures/memory_over_time.h"
#include "profiling/report/figures/plot_axis.h"
#include "profiling/snapshot/read.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kPlotExample =
    "headroom plot runs.jsonl --x context-length --y peak -o plot.svg";

CommandLine plot_command_line() {
  return {
      "plot FILE... [flags]",
      "Draws one figure of saved Records: a measured figure against a setting or against another\n"
      "figure, one line for each value of other settings. Of a snapshot (a .pickle file of any\n"
      "PyTorch program) it draws the live memory by purpose, without axes to choose. Exit code 3:\n"
      "the snapshot does not open.",
      {{.name = "x-axis",
        .value = "NAME",
        .help = "a setting, such as model-size, or a figure of --y-axis (default context-length)",
        .group = "Axes",
        .example = "--x-axis context-length",
        .other_name = "x"},
       {.name = "y-axis",
        .value = "NAME",
        .help = join(measured_figure_names()) + " (default peak)",
        .group = "Axes",
        .example = "--y-axis peak",
        .other_name = "y"},
       {"by", "NAME,...",
        "settings, a line for each of their values; 'techniques': all that differ", "Axes"},
       {.name = "output",
        .value = "FILE",
        .help = ".svg, .png or .pdf (default plot.svg)",
        .group = "Output",
        .file = FileUse::kWritten,
        .example = "--output plot.svg",
        .letter = "o"}},
      true,
      0};
}

std::string format_of(const std::string& output) {
  for (const char* format : {"svg", "png", "pdf"}) {
    if (output.ends_with(std::string(".") + format)) return format;
  }
  throw UsageError("--output: '" + output +
                   "' has no known ending; allowed: .svg, .png, .pdf (example: --output plot.svg)");
}

void check_setting(const std::string& flag, const std::string& name,
                   std::vector<std::string> allowed, const std::string& example) {
  if (find_setting(name) == nullptr) check_name(flag, name, allowed, example);
}

ChosenAxes axes_of(const Arguments& arguments) {
  ChosenAxes axes{.x = arguments.get("x-axis", "context-length"),
                  .y = arguments.get("y-axis", "peak")};
  const std::vector<std::string> figures = measured_figure_names();
  check_name("--y-axis", axes.y, figures, "--y-axis peak");
  std::vector<std::string> allowed = setting_names();
  if (arguments.has("by")) axes.by = parse_list("--by", arguments.get("by"), "--by precision");
  allowed.emplace_back(kByTechniques);
  for (const std::string& name : axes.by) {
    if (name != kByTechniques) check_setting("--by", name, allowed, "--by precision");
  }
  allowed.pop_back();
  allowed.insert(allowed.end(), figures.begin(), figures.end());
  check_setting("--x-axis", axes.x, allowed, "--x-axis context-length");
  return axes;
}

// By Debian's librsvg2-bin. Throws std::runtime_error, one line.
std::string converted(const std::string& svg, const std::string& format) {
  Command command{.program = "/usr/bin/env",
                  .arguments = {"rsvg-convert", "--format", format, "--zoom", "2"},
                  .environment = changed_environment({}, {}),
                  .input = svg};
  const Outcome outcome = run_command(command);
  constexpr int kNotFound = 127;
  if (outcome.exit_code == kNotFound) {
    throw std::runtime_error(
        "." + format + " needs rsvg-convert: sudo apt-get install librsvg2-bin; .svg does not");
  }
  if (outcome.exit_code != 0) {
    throw std::runtime_error("rsvg-convert failed: " + outcome.last_error_line);
  }
  return outcome.output;
}

void check_plot_files(const Arguments& arguments) {
  const std::vector<std::string>& files = arguments.positional;
  if (files.empty()) {
    throw UsageError(std::string("plot: needs a Records file (example: ") + kPlotExample + ")");
  }
  if (std::none_of(files.begin(), files.end(), is_snapshot)) return;
  if (files.size() > 1) {
    throw UsageError("plot: '" + files[1] +
                     "' is too much: a figure is of one snapshot (example: headroom plot "
                     "step.pickle)");
  }
  for (const char* flag : {"x-axis", "y-axis", "by"}) {
    if (!arguments.has(flag)) continue;
    throw UsageError(std::string("--") + flag + ": '" + arguments.get(flag) +
                     "' is for Records, not for a snapshot (example: headroom plot step.pickle)");
  }
}

Figure figure_of_snapshot(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  return memory_over_time(read_snapshot(path), name);
}

Figure figure_of_records(const Arguments& arguments, std::vector<std::string>& notes) {
  const ChosenAxes axes = axes_of(arguments);
  const std::vector<Record> records = records_of_files(arguments.positional, Keep::kWhole).records;
  if (records.empty()) throw UsageError("no Records in " + arguments.positional.front());
  try {
    return figure_of(latest_of_each(records, notes), axes);
  } catch (const std::runtime_error& error) {
    throw UsageError(error.what());
  }
}

int write_plot(const Arguments& arguments) {
  const std::string output = arguments.get("output", "plot.svg");
  const std::string format = format_of(output);
  axes_of(arguments);  // their errors come before a file is opened
  check_plot_files(arguments);
  check_writable(output);
  std::vector<std::string> notes;
  Figure figure;
  if (is_snapshot(arguments.positional.front())) {
    try {
      figure = figure_of_snapshot(arguments.positional.front());
    } catch (const std::runtime_error& error) {
      log_error(error.what());
      return kExitBadFile;
    }
  } else {
    figure = figure_of_records(arguments, notes);
  }
  write_file_atomically(output, format == "svg" ? figure.svg : converted(figure.svg, format));
  notes.insert(notes.end(), figure.notes.begin(), figure.notes.end());
  for (const std::string& note : notes) log_line(note);
  log_line("wrote " + output);
  return kExitOk;
}

}  // namespace

int run_plot_command(int argc, char** argv) {
  return parse_and_run(plot_command_line(), argc, argv, write_plot);
}

}  // namespace headroom
