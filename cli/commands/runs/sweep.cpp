// headroom sweep: runs a grid of cells and keeps every result.
#include "bench/sweep/sweep.h"

#include <algorithm>
#include <filesystem>

#include "bench/sweep/shards.h"
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flag_values.h"
#include "cli/flags/runs/run_flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "files/atomic_file.h"
#include "profiling/report/report.h"
#include "text/json_line.h"
#include "text/quantity.h"
#include "train/offload/disk/places.h"

namespace headroom {
namespace {

CommandLine sweep_command_line() {
  const std::vector<Flag> own = {
      {"records", "FILE", "JSONL file; one Record per cell is appended when the cell ends",
       "Results", FileUse::kWritten},
      {"snapshot-dir", "DIR", "directory where each cell writes <its name>_snapshot.pickle",
       "Results"},
      {"no-resume", "", "rerun cells that already have a Record in --records", "Results"},
      {"jobs", "N",
       "cells run at once (0 = one per core on virtual cards, one per real card,\none on the CPU, "
       "where others would disturb its times)",
       "Limits"},
      {.name = "shard",
       .value = "K/N",
       .help = "run only part K of N of the grid: every N-th cell",
       .group = "Results",
       .example = "--shard 1/2"},
      {"fresh-processes", "",
       "start a new process for each cell on a virtual card too; the Records are\nthe same, but it "
       "takes four times as long",
       "Limits"},
      {"one-process", "",
       "run all cells in one process, like a program that loops over them; memory\nthat a process "
       "keeps (cuBLAS workspaces) counts in later cells",
       "Limits"},
      {"format", "WORD", "table, csv, md; json (array) or jsonl: the whole Records", "Results"},
      {"dry-run", "", "print the cells (with --format csv or json their settings) and run nothing",
       "Results"}};
  return {
      "sweep --model-size NAME,... [flags]",
      "Runs every combination of the given values, each as in a new process. A failed cell gives\n"
      "a row with its reason, and the sweep continues. Another sweep with the same --records\n"
      "continues where the first one stopped.",
      joined(joined(grid_flags(), limit_flags()), own)};
}

// Every cell writes its own file, named after the cell.
void place_snapshots(std::vector<RunSpec>& specs, const std::string& directory) {
  if (directory.empty()) {
    throw UsageError("--snapshot-dir", directory, "is empty; allowed: the name of a folder",
                     "--snapshot-dir snapshots");
  }
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    throw std::runtime_error("cannot create --snapshot-dir " + directory + ": " + error.message());
  }
  for (RunSpec& spec : specs) {
    spec.snapshot =
        (std::filesystem::path(directory) / (row_name(spec) + "_snapshot.pickle")).string();
    validate(spec);
  }
  check_writable(specs.front().snapshot);
}

std::string rendered(const std::vector<Record>& records, const std::string& format) {
  if (!is_record_format(format)) {
    return to_string(summary_table(records), parse_table_format("--format", format), page_width());
  }
  const bool array = format == "json";
  std::string text = array ? "[" : "";
  for (const Record& record : records) {
    if (array) text += &record == records.data() ? "\n" : ",\n";
    text += to_json_line(record) + (array ? "" : "\n");
  }
  return array ? text + "\n]\n" : text;
}

// The cells to run: one name per line for people, with the settings for programs.
std::string listed(const std::vector<RunSpec>& specs, const std::string& format) {
  const auto lines = [&](const char* between, const auto& text_of) {
    std::string text;
    for (const RunSpec& spec : specs) text += (text.empty() ? "" : between) + text_of(spec);
    return text;
  };
  const auto object = [](const RunSpec& spec) {
    const nlohmann::json cell = {{"name", row_name(spec)}, {"spec", to_json(spec)}};
    return json_line(cell);
  };
  if (format == "json") return "[\n" + lines(",\n", object) + "\n]\n";
  if (format == "jsonl") return lines("\n", object) + "\n";
  if (format == "table") return lines("\n", row_name) + "\n";
  Table table{.title = "Cells", .columns = {{"name"}}};
  for (const Field& field : fields()) {
    table.columns.push_back({.name = field.name, .number = field.numeric(), .exact = true});
  }
  for (const RunSpec& spec : specs) {
    table.rows.push_back({row_name(spec)});
    for (const Field& field : fields()) table.rows.back().push_back(field.get(spec));
  }
  return to_string(table, parse_table_format("--format", format));
}

// True if no cell could start: the machine lacks something (a card), the cells are not at fault.
bool all_unsupported(const std::vector<Record>& records) {
  return !records.empty() && std::all_of(records.begin(), records.end(), [](const Record& record) {
    return record.status == Status::kUnsupported;
  });
}

int sweep_grid(const Arguments& arguments) {
  const SweepGrid grid = grid_from(arguments);
  const std::string format = format_from(arguments);
  SweepOptions options{.cell = limits_from(arguments),
                       .records_path = arguments.get("records"),
                       .resume = !arguments.has("no-resume"),
                       .jobs = static_cast<size_t>(integer(arguments, "jobs", 0, 0)),
                       .warm = !arguments.has("fresh-processes"),
                       .one_process = arguments.has("one-process"),
                       .on_progress = log_line};
  options.cell.on_talk = log_line;
  if (shows_status()) options.on_status = log_status;
  std::vector<RunSpec> specs = expand(grid.base, grid.axes);
  settle_devices(specs);
  if (arguments.has("shard")) {
    ShardCells cells = cells_of(parse_shard("--shard", arguments.get("shard")), specs);
    specs = std::move(cells.specs);
    options.marks = std::move(cells.marks);
  }
  if (specs.empty()) throw UsageError("the selection is empty: nothing to run");
  if (arguments.has("dry-run")) {
    print(listed(specs, format));
    return kExitOk;
  }
  if (arguments.has("snapshot-dir")) place_snapshots(specs, arguments.get("snapshot-dir"));
  check_disk_places(specs);
  const SweepResult result = run_sweep(specs, options);
  log_status("");
  if (!result.records.empty()) print(rendered(result.records, format));
  if (result.interrupted) {
    log_error("interrupted: " + std::to_string(result.records.size()) + " of " +
              std::to_string(specs.size()) + " cells are done" +
              (options.records_path.empty() ? "" : "; the same command runs the others"));
  } else if (all_unsupported(result.records)) {
    log_error("unsupported: " + result.records.front().reason);
    return kExitEnvironment;
  }
  return exit_code(result);
}

}  // namespace

int run_sweep_command(int argc, char** argv) {
  return parse_and_run(sweep_command_line(), argc, argv, sweep_grid);
}

}  // namespace headroom
