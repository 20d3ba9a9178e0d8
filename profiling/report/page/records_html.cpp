#include "profiling/report/page/records_html.h"

#include <set>

#include "profiling/report/page/page.h"
#include "profiling/report/rows/cells.h"
#include "text/words.h"

namespace headroom {
namespace {

std::string class_of(const Column& column) {
  if (column.exact) return " class=\"exact\"";
  return column.number ? " class=\"number\"" : "";
}

// An exact number behind a readable one is that one's value.
bool is_value_of_column_before(const Table& table, size_t column) {
  return column < table.columns.size() && table.columns[column].exact &&
         table.columns[column].number;
}

bool is_plain_number(const std::string& text) {
  return !text.empty() && text.find_first_not_of("0123456789.-") == std::string::npos;
}

std::string row_html(const Table& table, const Cells& cells) {
  std::string html = "<tr>";
  for (size_t i = 0; i < cells.size(); ++i) {
    const Column& column = table.columns[i];
    html += "<td" + class_of(column);
    if (!column.exact && is_value_of_column_before(table, i + 1) && is_plain_number(cells[i + 1])) {
      html += " data-value=\"" + cells[i + 1] + "\"";
    }
    html += ">" + html_escaped(cells[i].empty() ? column.when_empty : cells[i]) + "</td>";
  }
  return html + "</tr>\n";
}

std::string notes_html(const std::vector<std::string>& notes) {
  std::string html;
  for (const std::string& note : notes) {
    html += "<p class=\"muted\">" + html_escaped(note) + "</p>\n";
  }
  return html;
}

// "virtual:h200 (NVIDIA H200), libtorch 2.11.0, build 1234, 2026-11-22"
std::string environment_of(const Record& record) {
  std::vector<std::string> words = {device_name(record)};
  const std::string hardware = hardware_name(record);
  if (!hardware.empty() && hardware != words[0]) words[0] += " (" + hardware + ")";
  const std::string libtorch = environment_text(record, "libtorch");
  const std::string build = environment_text(record, "build");
  if (!libtorch.empty()) words.push_back("libtorch " + libtorch);
  if (!build.empty()) words.push_back("build " + build);
  const std::string time = environment_text(record, "time_utc");
  if (!time.empty()) words.push_back(time.substr(0, time.find('T')));
  return join(words);
}

std::string lines_html(const std::string& name, const std::vector<std::string>& lines) {
  if (lines.size() == 1) {
    return "<p class=\"muted\">" + name + ": <code>" + html_escaped(lines[0]) + "</code></p>\n";
  }
  std::string html =
      "<details><summary>" + name + "s (" + std::to_string(lines.size()) + ")</summary><pre>";
  for (const std::string& line : lines) html += html_escaped(line) + "\n";
  return html + "</pre></details>\n";
}

}  // namespace

std::string to_html(const Table& table) {
  std::string html = "<section class=\"records\">\n<h2>" + html_escaped(table.title) +
                     "</h2>\n<div class=\"wide\"><table class=\"sortable\">\n<thead><tr>";
  for (const Column& column : table.columns) {
    html += "<th scope=\"col\"" + class_of(column) + ">" + html_escaped(column.name) + "</th>";
  }
  html += "</tr></thead>\n<tbody>\n";
  for (const Cells& cells : table.rows) html += row_html(table, cells);
  return html + "</tbody>\n</table></div>\n" + notes_html(table.notes) + "</section>\n";
}

std::string to_html(const Figure& figure, const CommandOf& command_of) {
  std::set<std::string> environments;
  std::vector<std::string> commands;
  std::set<std::string> known;
  for (const Record* record : figure.shown) {
    environments.insert(environment_of(*record));
    const std::string command = command_of(*record);
    if (known.insert(command).second) commands.push_back(command);
  }
  return "<figure>\n<div class=\"wide\">" + figure.svg + "</div><figcaption>\n" +
         notes_html(figure.notes) +
         lines_html("Environment", {environments.begin(), environments.end()}) +
         lines_html("Command", commands) + "</figcaption>\n</figure>\n";
}

}  // namespace headroom
