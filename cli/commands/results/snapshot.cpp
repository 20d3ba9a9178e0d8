// headroom snapshot top|validate|diff: reads memory_viz snapshots of any origin.
#include <exception>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/log.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "profiling/report/snapshots/diff.h"
#include "profiling/report/snapshots/largest.h"
#include "profiling/snapshot/read.h"
#include "profiling/snapshot/validate.h"
#include "text/quantity.h"
#include "text/words.h"
#include "text/wrap.h"

namespace headroom {
namespace {

// Flags differ by verb and exit code 3 is a bad file here, so the help is not CommandLine's.
constexpr const char* kHelp =
    R"(headroom snapshot: read memory snapshots (the .pickle files memory_viz opens)

  headroom snapshot top FILE [--limit 10] [--order total|each] [--format table|csv|md|json]
      the largest allocations live at the peak: size, share, phase, stack
  headroom snapshot validate FILE...
      replay each file like the viewer and print why it would not open
  headroom snapshot diff A B [--format table|csv|md|json]
      compare the allocations of both: events by (action, size), segments, bytes

  --limit N       number of rows; 0 = all (default 10)
  --order NAME    sort rows by total bytes (total) or bytes per allocation (each) (default total)
  --format NAME   table, csv, md or json (default table)

Exit codes: 0 ok, 2 usage, 3 a file does not open or (diff) files differ, 5 the output cannot be written.
)";

TopOrder order_from(const Arguments& arguments) {
  const std::string word = arguments.get("order", "total");
  check_choice("--order", word, {"total", "each"}, "--order total");
  return word == "each" ? TopOrder::kEach : TopOrder::kTotal;
}

// A file that the viewer cannot open may have lost allocations.
void warn_if_broken(const std::string& path, const SnapshotFile& file) {
  const std::vector<SnapshotProblem> problems = validate_snapshot(file);
  if (!has_error(problems)) return;
  log_line(path + ": memory_viz does not open it, and figures may be wrong: " +
           problems.front().text + " (headroom snapshot validate lists all)");
}

int run_top(const std::vector<std::string>& files, int64_t limit, TopOrder order,
            TableFormat format) {
  if (files.size() != 1) {
    throw UsageError("snapshot top takes one file, not " + std::to_string(files.size()) +
                     "; example: headroom snapshot top run.pickle --limit 10");
  }
  PeakReport report;
  try {
    const SnapshotFile file = read_snapshot_file(files[0]);
    warn_if_broken(files[0], file);
    report = largest_allocations(file.snapshot, static_cast<size_t>(limit), order);
  } catch (const std::exception& error) {
    log_error(error.what());
    return kExitBadFile;
  }
  if (report.peak_bytes == 0) log_error(files[0] + ": nothing is live at any time");
  print(to_string(report, format, page_width()));
  return kExitOk;
}

int run_validate(const std::vector<std::string>& files) {
  if (files.empty()) {
    throw UsageError(
        "snapshot validate needs a file; example: headroom snapshot validate a.pickle");
  }
  bool failed = false;
  for (const std::string& path : files) {
    const std::vector<SnapshotProblem> problems = validate_snapshot_file(path);
    for (const SnapshotProblem& problem : problems) {
      print(
          fitted((problem.is_error ? "error: " : "warning: ") + problem.text + "\n", page_width()));
    }
    if (!has_error(problems)) print("ok: " + path + "\n");
    failed |= has_error(problems);
  }
  return failed ? kExitBadFile : kExitOk;
}

int run_diff(const std::vector<std::string>& files, TableFormat format) {
  if (files.size() != 2) {
    throw UsageError("snapshot diff takes two files, not " + std::to_string(files.size()) +
                     "; example: headroom snapshot diff real.pickle virtual.pickle");
  }
  SnapshotDiff diff;
  try {
    diff = diff_snapshots(read_snapshot(files[0]), read_snapshot(files[1]));
  } catch (const std::exception& error) {
    log_error(error.what());
    return kExitBadFile;
  }
  print(to_string(snapshot_diff_table(diff), format, page_width()));
  return diff.same() ? kExitOk : kExitBadFile;
}

int run_verb(const Arguments& arguments) {
  const int64_t limit = parse_integer("--limit", arguments.get("limit", "10"), 0, 1'000'000);
  const TableFormat format = parse_table_format("--format", arguments.get("format", "table"));
  const TopOrder order = order_from(arguments);
  std::vector<std::string> files = arguments.positional;
  const std::string verb = files.empty() ? "" : files.front();
  if (!files.empty()) files.erase(files.begin());
  if (verb == "top") return run_top(files, limit, order, format);
  if (verb == "validate") return run_validate(files);
  if (verb == "diff") return run_diff(files, format);
  throw UsageError(
      (verb.empty() ? "snapshot needs a verb" : "unknown verb 'snapshot " + verb + "'") +
      ": top, validate or diff; example: headroom snapshot top run.pickle");
}

}  // namespace

int run_snapshot_command(int argc, char** argv) {
  const CommandLine line("snapshot", "", {{"limit", "N"}, {"order", "NAME"}, {"format", "NAME"}},
                         true, 1);
  return parse_and_run(line, kHelp, argc, argv, run_verb);
}

}  // namespace headroom
