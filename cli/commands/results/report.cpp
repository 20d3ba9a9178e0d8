// headroom report: one HTML file of snapshots and Records, which opens without a network.
#include <exception>
#include <string>
#include <vector>

#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/log.h"
#include "cli/report/report_files.h"
#include "cli/report/report_fits.h"
#include "cli/report/report_records.h"
#include "files/atomic_file.h"
#include "profiling/report/page/page.h"
#include "text/words.h"

namespace headroom {
namespace {

CommandLine report_command_line() {
  return {
      "report FILE... [--output report.html]",
      "Writes one HTML file that shows memory snapshots (.pickle files of any PyTorch program)\n"
      "and Records: memory over time, everything that is live at any moment, segments with\n"
      "their holes, tables and figures; and answers of headroom fit --format json. A folder\n"
      "stands for its .pickle and .jsonl files and its answers. The page loads nothing, so it\n"
      "opens offline and can be mailed. Exit code 3: a snapshot does not open.",
      {{.name = "output",
        .value = "FILE",
        .help = "the HTML file to write (default report.html)",
        .group = "Output",
        .file = FileUse::kWritten,
        .example = "--output report.html",
        .letter = "o"}},
      true,
      0};
}

std::string title_of(const std::vector<std::string>& names) {
  constexpr size_t kMostNames = 3;
  return "Memory report: " +
         (names.size() <= kMostNames ? join(names) : std::to_string(names.size()) + " files");
}

SnapshotView view_of(const std::string& path) {
  return snapshot_view(path.substr(path.rfind('/') + 1), read_snapshot_file(path));
}

int write_report(const Arguments& arguments) {
  const std::string output = arguments.get("output", "report.html");
  const ReportFiles files = report_files(arguments.positional);
  check_writable(output);
  ReportPage page{.title = title_of(names_of(files))};
  try {
    for (const std::string& path : files.snapshots) page.snapshots.push_back(view_of(path));
  } catch (const std::exception& error) {
    log_error(error.what());
    return kExitBadFile;
  }
  page.tables = records_html(files.records) + fits_html(files.fits);
  write_file_atomically(output, to_html(page));
  log_line("wrote " + output);
  return kExitOk;
}

}  // namespace

int run_report_command(int argc, char** argv) {
  return parse_and_run(report_command_line(), argc, argv, write_report);
}

}  // namespace headroom
