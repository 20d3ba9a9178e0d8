#include "text/table.h"

#include <algorithm>
#include <cassert>
#include <nlohmann/json.hpp>

#include "text/columns.h"
#include "text/csv.h"
#include "text/printable.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

// The table for people: without exact columns, every text on one line.
Table for_people(const Table& table) {
  Table seen{.title = printable(table.title), .keys = 0};
  for (const auto& note : table.notes) seen.notes.push_back(printable(note));
  for (size_t column = 0; column < table.columns.size(); ++column) {
    if (table.columns[column].exact) continue;
    if (column < table.keys) ++seen.keys;
    seen.columns.push_back(table.columns[column]);
    seen.columns.back().name = printable(table.columns[column].name);
  }
  for (const Cells& row : table.rows) {
    assert(row.size() == table.columns.size());
    Cells cells;
    for (size_t column = 0; column < table.columns.size(); ++column) {
      if (table.columns[column].exact) continue;
      cells.push_back(
          printable(row[column].empty() ? table.columns[column].when_empty : row[column]));
    }
    seen.rows.push_back(std::move(cells));
  }
  return seen;
}

// Escapes characters with a meaning in Markdown or HTML.
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
  // One paragraph per note: Markdown would join consecutive lines.
  for (const auto& note : seen.notes) text += "\n" + escape_markdown(note) + "\n";
  return text;
}

std::string_view csv_value(std::string_view cell) { return cell == kNotAvailable ? "" : cell; }

// Drawn columns are for people only.
std::string to_csv(const Table& table) {
  std::string text;
  const auto add = [&](const auto& text_of) {
    bool is_first = true;
    for (size_t column = 0; column < table.columns.size(); ++column) {
      if (table.columns[column].picture) continue;
      if (!is_first) text += ',';
      is_first = false;
      add_csv_cell(text, text_of(column));
    }
    text += '\n';
  };
  add([&](size_t column) -> std::string_view { return table.columns[column].name; });
  std::vector<std::string_view> cells;
  for (size_t row = 0; row < table.rows.size(); ++row) {
    table.rows.look(row, cells);
    add([&](size_t column) { return csv_value(cells[column]); });
  }
  return text;
}

std::string key_of(const Table& table, const Cells& row) {
  const auto keys = static_cast<std::ptrdiff_t>(std::min(table.keys, row.size()));
  return join({row.begin(), row.begin() + keys}, " / ");
}

std::string to_long_csv(const std::vector<Table>& tables) {
  std::string text = csv_line({"table", "row", "column", "value"});
  for (const Table& table : tables) {
    for (const auto& row : table.rows) {
      for (size_t column = table.keys; column < table.columns.size(); ++column) {
        if (table.columns[column].picture) continue;
        text += csv_line({table.title, key_of(table, row), table.columns[column].name,
                          std::string(csv_value(row[column]))});
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

std::string dumped(const nlohmann::ordered_json& json) {
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

// dump() indented by `depth` columns: strings in it hold no newline.
std::string dumped(const nlohmann::ordered_json& json, size_t depth) {
  std::string text = dumped(json);
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 1)) {
    text.insert(at + 1, depth, ' ');
  }
  return text;
}

// Row by row: all rows as one value would take 10 KB each.
void add_json_object(std::string& text, const Table& table, size_t depth) {
  const std::string line = ",\n" + std::string(depth + 2, ' ');
  text += "{" + line.substr(1) + "\"title\": " + dumped(table.title) + line + "\"rows\": [";
  const char* between = "";
  for (const Cells& row : table.rows) {
    auto object = nlohmann::ordered_json::object();
    for (size_t column = 0; column < table.columns.size(); ++column) {
      object[table.columns[column].name] = json_value(table.columns[column], row[column]);
    }
    text += between + line.substr(1) + "  " + dumped(object, depth + 4);
    between = ",";
  }
  if (!table.rows.empty()) text += line.substr(1);
  text += "]" + line + "\"notes\": " + dumped(table.notes, depth + 2) + "\n" +
          std::string(depth, ' ') + "}";
}

std::string to_json_text(const std::vector<Table>& tables) {
  std::string text;
  if (tables.size() == 1) {
    add_json_object(text, tables.front(), 0);
    return text + "\n";
  }
  for (const Table& table : tables) {
    text += text.empty() ? "[\n  " : ",\n  ";
    add_json_object(text, table, 2);
  }
  return text.empty() ? "[]\n" : text + "\n]\n";
}

// With an empty line between two.
template <typename Print>
std::string one_after_another(const std::vector<Table>& tables, const Print& print) {
  std::string text;
  for (const Table& table : tables) text += (text.empty() ? "" : "\n") + print(table);
  return text;
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

std::string to_string(const Table& table, TableFormat format, size_t width) {
  return to_string(std::vector<Table>{table}, format, width);
}

std::string to_string(const std::vector<Table>& tables, TableFormat format, size_t width) {
  const bool one = tables.size() == 1;
  switch (format) {
    case TableFormat::kCsv:
      return one ? to_csv(tables.front()) : to_long_csv(tables);
    case TableFormat::kMarkdown:
      return one_after_another(tables, to_markdown);
    case TableFormat::kJson:
      return to_json_text(tables);
    case TableFormat::kText:
      break;
  }
  bool folded = false;
  std::string text = one_after_another(
      tables, [&](const Table& table) { return text_of(for_people(table), width, folded); });
  return folded ? text + "\n" + folded_note(width) : text;
}

}  // namespace headroom
