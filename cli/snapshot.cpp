#include "cli/snapshot.h"

#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/snapshot_read.h"
#include "profiling/snapshot_top.h"
#include "profiling/snapshot_validate.h"
#include "train/quantity.h"
#include "train/words.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr int kExitUsage = 2;
constexpr int kExitBadFile = 3;
constexpr int kExitEnvironment = 5;

constexpr size_t kTableStackLines = 7;  // csv, md and json hold all

constexpr const char* kHelp =
    R"(headroom snapshot: read memory snapshots (the .pickle files memory_viz opens)

  headroom snapshot top FILE [--limit 10] [--format table|csv|md|json]
      the largest allocations live at the peak: size, share, phase, stack
  headroom snapshot validate FILE...
      replay each file as the viewer does and say why it would not open

  --limit N       rows; 0 = all (default 10)
  --format NAME   table, csv, md or json (default table)

Exit codes: 0 ok, 2 usage, 3 a file does not open, 5 the output cannot be written.
)";

struct Options {
  std::string verb;
  std::vector<std::string> files;
  size_t limit = 10;
  std::string format = "table";
  bool help = false;
};

void set_option(Options& options, const std::string& flag, const std::string& value) {
  static const std::vector<std::string> formats = {"table", "csv", "md", "json"};
  if (flag == "--limit") {
    options.limit = static_cast<size_t>(parse_integer(flag, value, 0, 1'000'000));
  } else if (std::find(formats.begin(), formats.end(), value) != formats.end()) {
    options.format = value;
  } else {
    throw UsageError(flag, value, "is not one of " + join(formats), flag + " table");
  }
}

[[noreturn]] void refuse_no_value(const std::string& flag) {
  throw UsageError(flag + " needs a value; example: " + flag +
                   (flag == "--limit" ? " 10" : " csv"));
}

[[noreturn]] void refuse_unknown(const std::string& flag) {
  const std::string near = nearest_name(flag, {"--limit", "--format", "--help"});
  throw UsageError(
      "unknown option " + flag +
      (near.empty() ? "; see headroom snapshot --help" : ", did you mean " + near + "?"));
}

Options parse(int argc, char** argv) {
  Options options;
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (only_files || word.empty() || word[0] != '-' || word == "-") {
      if (options.verb.empty()) {
        options.verb = word;
      } else {
        options.files.push_back(word);
      }
      continue;
    }
    if (word == "--") {
      only_files = true;
      continue;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    if (flag == "--help" || flag == "-h") {
      options.help = true;
    } else if (flag == "--limit" || flag == "--format") {
      if (equals == std::string::npos && i + 1 == argc) {
        refuse_no_value(flag);
      }
      set_option(options, flag, equals == std::string::npos ? argv[++i] : word.substr(equals + 1));
    } else {
      refuse_unknown(flag);
    }
  }
  return options;
}

std::string percent(double share) {
  char text[32];
  snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

std::string phase_of(const LiveAllocation& row) {
  if (row.before_recording) return "before recording";
  return row.phase.empty() ? "-" : row.phase;
}

std::string count_of(const LiveAllocation& row) { return "x " + std::to_string(row.count); }

// One paragraph above the rows of the formats people read.
std::string headline(const PeakReport& report) {
  const auto exact = [](int64_t bytes) {
    return format_bytes(bytes) + " (" + std::to_string(bytes) + " bytes)";
  };
  std::string text = "Peak of live bytes on device " + std::to_string(report.device) + ": " +
                     exact(report.peak_bytes) + ", " + std::to_string(report.live_count) +
                     " allocations live, ";
  if (report.event < 0) {
    text += "before the first event";
  } else {
    text += "at event " + std::to_string(report.event) + " of " + std::to_string(report.events);
    if (!report.phase.empty()) text += ", in " + report.phase;
  }
  text += "; from before the recording: " + exact(report.before_recording_bytes) + ".\n";
  text += "Listed: " + exact(report.listed_bytes) + ", " +
          percent(static_cast<double>(report.listed_bytes) /
                  static_cast<double>(std::max<int64_t>(report.peak_bytes, 1))) +
          " of the peak.\n";
  return text;
}

std::vector<std::string> stack_lines(const LiveAllocation& row) {
  if (!row.stack.empty()) return row.stack;
  return {row.before_recording ? "(allocated before the recording)" : "(no stack recorded)"};
}

void print_table(const PeakReport& report, std::ostream& out) {
  out << headline(report) << '\n';
  char line[160];
  snprintf(line, sizeof line, "%3s  %12s  %6s  %12s  %7s  %-16s  %s\n", "#", "each", "count",
           "together", "share", "phase", "allocated at");
  out << line;
  int number = 0;
  for (const LiveAllocation& row : report.rows) {
    snprintf(line, sizeof line, "%3d  %12s  %6s  %12s  %7s  %-16.40s  ", ++number,
             format_bytes(row.size).c_str(), count_of(row).c_str(),
             format_bytes(row.size * row.count).c_str(), percent(row.share).c_str(),
             phase_of(row).c_str());
    const std::string indent(std::string_view(line).size(), ' ');
    std::vector<std::string> stack = stack_lines(row);
    if (stack.size() > kTableStackLines) {  // the outermost of our frames say least
      stack.erase(stack.begin() + kTableStackLines - 2, stack.end() - 1);
      stack.insert(stack.end() - 1, "...");
    }
    out << line << join(stack, "\n" + indent) << '\n';
  }
}

// Quoted where a comma, a quote or a line break needs it; a leading = + - @ would make it a formula
// in a spreadsheet.
std::string csv_field(const std::string& text) {
  const bool formula = !text.empty() && std::string_view("=+-@").find(text[0]) != std::string::npos;
  if (!formula && text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = formula ? "\"'" : "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

void print_csv(const PeakReport& report, std::ostream& out) {
  out << "size_bytes,count,total_bytes,share_of_peak,phase,stack\n";
  for (const LiveAllocation& row : report.rows) {
    out << row.size << ',' << row.count << ',' << row.size * row.count << ',' << row.share << ','
        << csv_field(row.before_recording ? "before recording" : row.phase) << ','
        << csv_field(join(stack_lines(row), " < ")) << '\n';
  }
}

std::string md_cell(const std::string& text) {
  std::string cell;
  for (const char c : text) {
    if (c == '|') cell += '\\';
    if (c == '<') {
      cell += "&lt;";
    } else {
      cell += c == '\n' ? ' ' : c;
    }
  }
  return cell;
}

void print_md(const PeakReport& report, std::ostream& out) {
  out << headline(report) << "\n| # | each | count | together | share | phase | allocated at |\n"
      << "|--:|--:|--:|--:|--:|---|---|\n";
  int number = 0;
  for (const LiveAllocation& row : report.rows) {
    std::vector<std::string> lines = stack_lines(row);
    for (std::string& line : lines) line = md_cell(line);
    out << "| " << ++number << " | " << format_bytes(row.size) << " | " << count_of(row) << " | "
        << format_bytes(row.size * row.count) << " | " << percent(row.share) << " | "
        << md_cell(phase_of(row)) << " | " << join(lines, "<br>") << " |\n";
  }
}

void print_json(const PeakReport& report, std::ostream& out) {
  json rows = json::array();
  for (const LiveAllocation& row : report.rows) {
    rows.push_back({{"size_bytes", row.size},
                    {"count", row.count},
                    {"share_of_peak", row.share},
                    {"phase", row.phase},
                    {"before_recording", row.before_recording},
                    {"stack", row.stack}});
  }
  const json object = {{"schema_version", 1},
                       {"device", report.device},
                       {"peak_bytes", report.peak_bytes},
                       {"event", report.event},
                       {"events", report.events},
                       {"time_us", report.time_us},
                       {"phase", report.phase},
                       {"live_count", report.live_count},
                       {"before_recording_bytes", report.before_recording_bytes},
                       {"listed_bytes", report.listed_bytes},
                       {"allocations", rows}};
  out << object.dump(-1, ' ', false, json::error_handler_t::replace) << '\n';
}

int run_top(const Options& options) {
  if (options.files.size() != 1) {
    throw UsageError("snapshot top takes one file, not " + std::to_string(options.files.size()) +
                     "; example: headroom snapshot top run.pickle --limit 10");
  }
  const Snapshot snapshot = read_snapshot(options.files[0]);
  const PeakReport report = largest_allocations(snapshot, options.limit);
  if (report.peak_bytes == 0) {
    std::cerr << "headroom: " << options.files[0] << ": nothing is live at any time\n";
  }
  if (options.format == "csv") {
    print_csv(report, std::cout);
  } else if (options.format == "md") {
    print_md(report, std::cout);
  } else if (options.format == "json") {
    print_json(report, std::cout);
  } else {
    print_table(report, std::cout);
  }
  return 0;
}

int run_validate(const Options& options) {
  if (options.files.empty()) {
    throw UsageError(
        "snapshot validate needs a file; example: headroom snapshot validate a.pickle");
  }
  bool failed = false;
  for (const std::string& path : options.files) {
    const std::vector<SnapshotProblem> problems = validate_snapshot_file(path);
    for (const SnapshotProblem& problem : problems) {
      std::cout << (problem.is_error ? "error: " : "warning: ") << problem.text << '\n';
    }
    if (!has_error(problems)) std::cout << "ok: " << path << '\n';
    failed |= has_error(problems);
  }
  return failed ? kExitBadFile : 0;
}

int run(const Options& options) {
  if (options.help) {
    std::cout << kHelp;
    return 0;
  }
  if (options.verb == "top") return run_top(options);
  if (options.verb == "validate") return run_validate(options);
  throw UsageError((options.verb.empty() ? "snapshot needs a verb"
                                         : "unknown verb 'snapshot " + options.verb + "'") +
                   ": top or validate; example: headroom snapshot top run.pickle");
}

}  // namespace

int run_snapshot_command(int argc, char** argv) {
  int status = 0;
  try {
    status = run(parse(argc, argv));
  } catch (const UsageError& error) {
    std::cerr << "headroom: " << error.what() << '\n';
    return kExitUsage;
  } catch (const std::exception& error) {
    std::cerr << "headroom: " << error.what() << '\n';
    status = kExitBadFile;
  }
  if (!std::cout.flush()) {
    std::cerr << "headroom: the output cannot be written\n";
    return kExitEnvironment;
  }
  return status;
}

}  // namespace headroom
