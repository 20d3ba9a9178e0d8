// headroom table: tables again, from saved Records.
#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/record_files.h"
#include "cli/terminal.h"
#include "files/atomic_file.h"
#include "plan/measured.h"
#include "profiling/report/report.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

const std::vector<std::string> kKinds = {"peak-memory", "mixed-precision", "residuals", "summary",
                                         "computed"};

CommandLine command_line() {
  return {"table " + join(kKinds, "|") + " RECORDS.jsonl... [flags]",
          "Prints tables from the Records that sweep --records or profile --format json saved.",
          {{"format", "WORD", "text, csv, md, json (default text)", "Output"},
           {"output", "FILE", "write there, whole or not at all, instead of stdout", "Output",
            FileUse::kWritten}},
          true,
          1};
}

std::vector<Record> read_all(const std::vector<std::string>& paths) {
  std::vector<Record> records;
  for (const std::string& path : paths) {
    const std::vector<Record> more = records_of(path);
    records.insert(records.end(), more.begin(), more.end());
  }
  if (records.empty()) throw UsageError("no Records in " + paths.front());
  return records;
}

std::vector<Table> make_tables(const std::string& kind, const std::vector<Record>& records,
                               TableFormat format) {
  if (kind == "peak-memory") return {peak_memory_table(records)};
  if (kind == "residuals") return {residuals_table(records)};
  if (kind == "computed") return {measured_table(comparable(records, nullptr))};
  if (kind == "summary") return {summary_table(records)};
  std::vector<Table> tables = mixed_precision_tables(records);
  // The comparison alone: its exact columns hold the breakdowns.
  if (format == TableFormat::kCsv) tables.resize(1);
  return tables;
}

int print_tables(const Arguments& arguments) {
  if (arguments.positional.size() < 2) {
    throw UsageError("table: needs a kind (" + join(kKinds) +
                     ") and a Records file "
                     "(example: headroom table summary records.jsonl)");
  }
  const std::string kind = arguments.positional.front();
  check_name("table", kind, kKinds, "headroom table summary records.jsonl");
  const TableFormat format = parse_table_format("--format", arguments.get("format", "text"));
  const std::string output = arguments.get("output");
  if (arguments.has("output") && output.empty()) {
    throw UsageError("--output", output, "is empty; allowed: the name of a file",
                     "--output summary.md");
  }
  if (!output.empty()) check_writable(output);
  const std::vector<Record> records =
      read_all({arguments.positional.begin() + 1, arguments.positional.end()});
  const std::vector<Table> tables = make_tables(kind, records, format);
  if (output.empty()) {
    print(to_string(tables, format, terminal_width()));
  } else {
    write_file_atomically(output, to_string(tables, format));
  }
  return kExitOk;
}

}  // namespace

int run_table_command(int argc, char** argv) {
  return parse_and_run(command_line(), argc, argv, print_tables);
}

}  // namespace headroom
