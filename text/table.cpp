#include "text/table.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

#include "text/csv.h"
#include "text/printable.h"
#include "text/quantity.h"

namespace headroom {
namespace {

// The table as people see it: exact columns left out, every text on one line.
Table for_people(const Table& table) {
  Table seen{.title = printable(table.title)};
  for (const auto& note : table.notes) seen.notes.push_back(printable(note));
  seen.rows.resize(table.rows.size());
  for (size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].exact) continue;
    seen.columns.push_back(table.columns[column]);
    seen.columns.back().name = printable(table.columns[column].name);
    for (size_t row = 0; row < table.rows.size(); ++row) {
      assert(table.rows[row].size() == table.columns.size());
      seen.rows[row].push_back(printable(table.rows[row][column]));
    }
  }
  return seen;
}

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return right ? space + text : text + space;
}

std::string to_text(const Table& table) {
  const Table seen = for_people(table);
  std::vector<size_t> widths;
  for (size_t column = 0; column < seen.columns.size(); ++column) {
    widths.push_back(display_width(seen.columns[column].name));
    for (const auto& row : seen.rows) {
      widths.back() = std::max(widths.back(), display_width(row[column]));
    }
  }
  const auto line = [&](const auto& text_of) {
    std::string text;
    for (size_t column = 0; column < seen.columns.size(); ++column) {
      if (column > 0) text += "  ";
      text += padded(text_of(column), widths[column], seen.columns[column].number);
    }
    text.erase(text.find_last_not_of(' ') + 1);
    return text + "\n";
  };
  std::string text = seen.title.empty() ? "" : seen.title + "\n";
  text += line([&](size_t column) { return seen.columns[column].name; });
  text += line([&](size_t column) { return std::string(widths[column], '-'); });
  for (const auto& row : seen.rows) text += line([&](size_t column) { return row[column]; });
  for (const auto& note : seen.notes) text += note + "\n";
  return text;
}

// Characters that Markdown or the HTML in it would take for its own.
std::string escape_markdown(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '<') {
      escaped += "&lt;";
    } else if (c == '&') {
      escaped += "&amp;";
    } else {
      if (std::string_view("\\`*[]|").find(c) != std::string_view::npos) escaped += '\\';
      escaped += c;
    }
  }
  return escaped;
}

std::string to_markdown(const Table& table) {
  const Table seen = for_people(table);
  std::string text = seen.title.empty() ? "" : "### " + escape_markdown(seen.title) + "\n\n";
  text += "|";
  for (const auto& column : seen.columns) text += " " + escape_markdown(column.name) + " |";
  text += "\n|";
  for (const auto& column : seen.columns) text += column.number ? " ---: |" : " --- |";
  text += "\n";
  for (const auto& row : seen.rows) {
    text += "|";
    for (const auto& cell : row) text += " " + escape_markdown(cell) + " |";
    text += "\n";
  }
  // One paragraph per note: Markdown would run consecutive lines together.
  for (const auto& note : seen.notes) text += "\n" + escape_markdown(note) + "\n";
  return text;
}

std::string to_csv(const Table& table) {
  std::vector<std::string> names;
  for (const auto& column : table.columns) names.push_back(column.name);
  std::string text = csv_line(names);
  for (const auto& row : table.rows) text += csv_line(row);
  return text;
}

std::string to_long_csv(const std::vector<Table>& tables) {
  std::string text = csv_line({"table", "row", "column", "value"});
  for (const Table& table : tables) {
    for (const auto& row : table.rows) {
      for (size_t column = 1; column < table.columns.size(); ++column) {
        text += csv_line({table.title, row[0], table.columns[column].name, row[column]});
      }
    }
  }
  return text;
}

nlohmann::ordered_json json_value(const Column& column, const std::string& text) {
  if (!column.number) return text;
  if (text == kNotAvailable) return nullptr;
  auto value = nlohmann::ordered_json::parse(text, nullptr, false);
  return value.is_number() ? value : nlohmann::ordered_json(text);
}

nlohmann::ordered_json to_json_object(const Table& table) {
  auto rows = nlohmann::ordered_json::array();
  for (const auto& row : table.rows) {
    auto object = nlohmann::ordered_json::object();
    for (size_t column = 0; column < table.columns.size(); ++column) {
      object[table.columns[column].name] = json_value(table.columns[column], row[column]);
    }
    rows.push_back(std::move(object));
  }
  return {{"title", table.title}, {"rows", std::move(rows)}, {"notes", table.notes}};
}

std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

TableFormat parse_table_format(std::string_view flag, std::string_view word) {
  if (word == "text" || word == "table") return TableFormat::kText;
  if (word == "csv") return TableFormat::kCsv;
  if (word == "md") return TableFormat::kMarkdown;
  if (word == "json") return TableFormat::kJson;
  throw UsageError(flag, word, "is unknown; allowed: text, csv, md, json",
                   std::string(flag) + " md");
}

std::string to_string(const Table& table, TableFormat format) {
  switch (format) {
    case TableFormat::kCsv:
      return to_csv(table);
    case TableFormat::kMarkdown:
      return to_markdown(table);
    case TableFormat::kJson:
      return dumped(to_json_object(table));
    case TableFormat::kText:
      break;
  }
  return to_text(table);
}

std::string to_string(const std::vector<Table>& tables, TableFormat format) {
  if (tables.size() == 1) return to_string(tables.front(), format);
  if (format == TableFormat::kCsv) return to_long_csv(tables);
  if (format == TableFormat::kJson) {
    auto array = nlohmann::ordered_json::array();
    for (const Table& table : tables) array.push_back(to_json_object(table));
    return dumped(array);
  }
  std::string text;
  for (const Table& table : tables) text += (text.empty() ? "" : "\n") + to_string(table, format);
  return text;
}

}  // namespace headroom
