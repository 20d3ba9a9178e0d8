// headroom table: prints tables from saved Records.
#include <iterator>
#include <utility>

#include "cli/commands/commands.h"
#include "cli/commands/parse_and_run.h"
#include "cli/exit_code.h"
#include "cli/flags/flags.h"
#include "cli/output.h"
#include "cli/record_files.h"
#include "files/atomic_file.h"
#include "plan/measured.h"
#include "profiling/record/record_schema.h"
#include "profiling/report/report.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

const std::vector<std::string> kKinds = {"peak-memory", "mixed-precision", "residuals", "summary",
                                         "computed"};

CommandLine table_command_line() {
  return {"table " + join(kKinds, "|") + " RECORDS.jsonl... [flags]",
          "Prints tables from Records saved by sweep --records or profile --format json.",
          {{"format", "WORD", "text, csv, md, json (default text)", "Output"},
           {"output", "FILE", "file to write instead of stdout, completely or not at all", "Output",
            FileUse::kWritten},
           {.name = "schema",
            .help = "print the JSON Schema of a Record, and no table",
            .group = "Output",
            .example = "headroom table --schema"}},
          true,
          1};
}

LatestRecords read_all(const std::vector<std::string>& paths, Keep keep) {
  LatestRecords all = records_of_files(paths, keep);
  if (all.records.empty()) throw UsageError("no Records in " + paths.front());
  return all;
}

std::vector<Table> make_tables(const std::string& kind, const std::vector<Record>& records,
                               TableFormat format) {
  if (kind == "peak-memory") return {peak_memory_table(records)};
  if (kind == "residuals") return {residuals_table(records)};
  if (kind == "computed") return {measured_table(comparable(records, nullptr))};
  if (kind == "summary") return {summary_table(records)};
  std::vector<Table> tables = mixed_precision_tables(records);
  // Only the comparison: its exact columns hold the breakdowns.
  if (format == TableFormat::kCsv) tables.resize(1);
  return tables;
}

// Adds a note on the rows that reading left out.
std::vector<Table> with_replaced(std::vector<Table> tables, int64_t replaced) {
  if (replaced > 0) {
    tables.front().notes.push_back("Not shown: " + std::to_string(replaced) +
                                   " earlier result(s) that later rows repeat.");
  }
  return tables;
}

int print_schema(const Arguments& arguments) {
  if (arguments.values.size() > 1 || !arguments.positional.empty()) {
    throw UsageError("--schema stands alone; example: headroom table --schema");
  }
  print(record_schema().dump(1) + "\n");
  return kExitOk;
}

int tables_from_records(const Arguments& arguments) {
  if (arguments.has("schema")) return print_schema(arguments);
  if (arguments.positional.size() < 2) {
    throw UsageError("table: needs a kind (" + join(kKinds) +
                     ") and a Records file "
                     "(example: headroom table summary records.jsonl)");
  }
  const std::string kind = arguments.positional.front();
  check_name("table", kind, kKinds, "headroom table summary records.jsonl");
  const TableFormat format = parse_table_format("--format", arguments.get("format", "text"));
  const std::string output = arguments.get("output");
  if (!output.empty()) check_writable(output);
  const bool is_of_peaks = is_one_of(kind, {"peak-memory", "summary"});
  const auto tables = [&] {
    const LatestRecords read =
        read_all({arguments.positional.begin() + 1, arguments.positional.end()},
                 is_of_peaks ? Keep::kPeaks : Keep::kFigures);
    return with_replaced(make_tables(kind, read.records, format), read.replaced);
  }();  // frees the Records before the text is made
  print_tables(tables, format, output);
  return kExitOk;
}

}  // namespace

int run_table_command(int argc, char** argv) {
  return parse_and_run(table_command_line(), argc, argv, tables_from_records);
}

}  // namespace headroom
