#include "profiling/report/snapshots/largest.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "profiling/report/rows/cells.h"
#include "text/csv.h"
#include "text/json_line.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/words.h"
#include "text/wrap.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr size_t kTableStackLines = 7;  // csv, md and json hold all

std::string phase_of(const LiveAllocation& row) {
  if (row.before_recording) return "before recording";
  return row.phase.empty() ? "-" : row.phase;
}

std::string count_of(const LiveAllocation& row) { return "x " + std::to_string(row.count); }

int64_t bytes_of(const LiveAllocation& row) { return row.size * row.count; }

// One paragraph above the rows, in the formats for people.
std::string headline(const PeakReport& report) {
  std::string text = "Peak of live bytes on device " + std::to_string(report.device) + ": " +
                     bytes_in_full(report.peak_bytes) + ", " + std::to_string(report.live_count) +
                     " allocations live, ";
  if (report.event < 0) {
    text += "before the first event";
  } else {
    text += "at event " + std::to_string(report.event) + " of " + std::to_string(report.events);
    if (!report.phase.empty()) text += ", in " + report.phase;
  }
  text += "; from before the recording: " + bytes_in_full(report.before_recording_bytes) + ".\n";
  text += "Listed: " + bytes_in_full(report.listed_bytes) + ", " +
          percent(report.listed_bytes, std::max<int64_t>(report.peak_bytes, 1)) + " of the peak.\n";
  return text;
}

std::vector<std::string> stack_lines(const LiveAllocation& row) {
  std::vector<std::string> lines = row.stack;
  if (row.before_recording && !row.purpose.empty()) {
    lines.insert(lines.begin(), "(" + row.purpose + ")");
  }
  if (!lines.empty()) return lines;
  return {row.before_recording ? "(allocated before the recording)" : "(no stack recorded)"};
}

std::vector<std::string> shown_stack(const LiveAllocation& row) {
  std::vector<std::string> stack = stack_lines(row);
  for (std::string& line : stack) line = printable(line);
  if (stack.size() > kTableStackLines) {  // our outermost frames matter least
    stack.erase(stack.begin() + kTableStackLines - 2, stack.end() - 1);
    stack.insert(stack.end() - 1, "...");
  }
  return stack;
}

// The lines of a page, each indented by `indent` spaces.
std::string indented(const std::vector<std::string>& lines, size_t indent, size_t width) {
  const size_t room = width == 0 ? 0 : width - indent;
  std::vector<std::string> all;
  for (const std::string& line : lines) {
    for (std::string& piece : wrapped(line, room, /*indent=*/2)) all.push_back(std::move(piece));
  }
  return join(all, "\n" + std::string(indent, ' '));
}

// If the page has no room for stacks beside the figures, they stand under them.
std::string to_text(const PeakReport& report, size_t page) {
  constexpr size_t kPhase = 16;
  constexpr size_t kLongestPhase = 40;
  constexpr size_t kLeast = 40;  // room for a stack
  constexpr size_t kUnder = 5;   // its indent under the figures
  const size_t width = page == 0 ? 0 : std::max<size_t>(page, 80);
  std::string text = fitted(headline(report), page) + "\n";
  char line[160];
  snprintf(line, sizeof line, "%3s  %12s  %6s  %12s  %7s  %-16s  %s\n", "#", "each", "count",
           "together", "share", "phase", "allocated at");
  text += line;
  int number = 0;
  for (const LiveAllocation& row : report.rows) {
    snprintf(line, sizeof line, "%3d  %12s  %6s  %12s  %7s  ", ++number,
             format_bytes(row.size).c_str(), count_of(row).c_str(),
             format_bytes(bytes_of(row)).c_str(),
             percent(bytes_of(row), report.peak_bytes).c_str());
    std::string figures = line;
    const size_t room = width == 0 ? kLongestPhase : width - std::min(width, figures.size());
    const std::string phase = printable(phase_of(row));
    figures += phase.substr(0, bytes_within(phase, std::min(room, kLongestPhase)));
    const size_t end = std::strlen(line) + kPhase;
    figures += std::string(end - std::min(end, display_width(figures)), ' ') + "  ";
    const size_t beside = display_width(figures);
    if (width == 0 || width >= beside + kLeast) {
      text += figures + indented(shown_stack(row), beside, width) + "\n";
    } else {
      figures.erase(figures.find_last_not_of(' ') + 1);
      text += figures + "\n" + std::string(kUnder, ' ') +
              indented(shown_stack(row), kUnder, width) + "\n";
    }
  }
  return text;
}

std::string to_csv(const PeakReport& report) {
  std::string text =
      csv_line({"size_bytes", "count", "total_bytes", "share_of_peak", "phase", "stack"});
  for (const LiveAllocation& row : report.rows) {
    char share[32];
    snprintf(share, sizeof share, "%g", row.share);
    text += csv_line(
        {std::to_string(row.size), std::to_string(row.count), std::to_string(bytes_of(row)), share,
         row.before_recording ? "before recording" : row.phase, join(stack_lines(row), " < ")});
  }
  return text;
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

std::string to_markdown(const PeakReport& report) {
  std::string text = headline(report) +
                     "\n| # | each | count | together | share | phase | allocated at |\n"
                     "|--:|--:|--:|--:|--:|---|---|\n";
  int number = 0;
  for (const LiveAllocation& row : report.rows) {
    std::vector<std::string> lines = stack_lines(row);
    for (std::string& line : lines) line = md_cell(line);
    text += "| " +
            join({std::to_string(++number), format_bytes(row.size), count_of(row),
                  format_bytes(bytes_of(row)), percent(bytes_of(row), report.peak_bytes),
                  md_cell(phase_of(row)), join(lines, "<br>")},
                 " | ") +
            " |\n";
  }
  return text;
}

std::string to_json_object(const PeakReport& report) {
  json rows = json::array();
  for (const LiveAllocation& row : report.rows) {
    rows.push_back({{"size_bytes", row.size},
                    {"count", row.count},
                    {"share_of_peak", row.share},
                    {"phase", row.phase},
                    {"before_recording", row.before_recording},
                    {"purpose", row.purpose},
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
  return json_line(object) + "\n";
}

}  // namespace

std::string to_string(const PeakReport& report, TableFormat format, size_t width) {
  switch (format) {
    case TableFormat::kCsv:
      return to_csv(report);
    case TableFormat::kMarkdown:
      return to_markdown(report);
    case TableFormat::kJson:
      return to_json_object(report);
    case TableFormat::kText:
      break;
  }
  return to_text(report, width);
}

}  // namespace headroom
