// A table as plain data, and its four printers. No torch here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/rows.h"

namespace headroom {

// Note [Two readers of one table]
// Rationale: people need "39.750 GiB", programs need 42681237504, and both must be the same table.
// Approach: a column marked exact holds the plain number; text and Markdown leave it out, CSV and
//   JSON print it beside the readable one. A number column holds plain numbers: JSON prints them as
//   numbers, and "n/a" (never a blank, never NaN) as null.
//   Missing values are empty in CSV, as every CSV reader expects.
// Limits: CSV has neither title nor notes, because a comment line would not parse.
struct Column {
  std::string name;
  bool number = false;          // right-aligned; plain numbers in JSON
  bool exact = false;           // for programs only: CSV and JSON
  std::string when_empty = {};  // text for people in an empty cell; programs get nothing
  bool picture = false;  // drawn from the other columns: not in CSV, in text if there is room
};

struct Table {
  std::string title;
  std::vector<std::string> notes;  // lines printed under the table
  std::vector<Column> columns;
  Rows rows;
  size_t keys = 1;  // number of leading columns that identify the row
};

inline constexpr const char* kNotAvailable = "n/a";

enum class TableFormat { kText, kCsv, kMarkdown, kJson };

// "text" (or "table"), "csv", "md", "json"; throws UsageError naming `flag`.
TableFormat parse_table_format(std::string_view flag, std::string_view word);

// Every format ends with a newline. Text and Markdown print the tables one after another. CSV of
// one table is that table; of several, which have different columns, it is one long table of table,
// row, column, value, where row joins the key columns with " / ". JSON of one table is an object,
// of several an array of them. width: of the page for text, in columns; 0 = as wide as needed
// (text/columns.h).
std::string to_string(const Table& table, TableFormat format, size_t width = 0);
std::string to_string(const std::vector<Table>& tables, TableFormat format, size_t width = 0);

}  // namespace headroom
