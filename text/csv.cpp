#include "text/csv.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <string_view>

namespace headroom {
namespace {

// "-5", "+4.2 %", "-5.000 MiB": a sign, digits, at most one word as the unit.
bool is_quantity(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value)) return false;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return std::all_of(unit.begin(), unit.end(), [](unsigned char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '%';
  });
}

}  // namespace

void add_csv_cell(std::string& text, std::string_view cell) {
  const bool formula =
      !cell.empty() && std::string_view("=+-@\t\r").find(cell[0]) != std::string_view::npos;
  const bool quoted = std::any_of(cell.begin(), cell.end(), [](char c) {
    return c == ',' || c == '"' || c == '\r' || c == '\n';
  });
  if (quoted) text += '"';
  if (formula && !is_quantity(cell)) text += '\'';
  if (!quoted) {
    text += cell;
    return;
  }
  for (const char c : cell) {
    if (c == '"') text += '"';
    text += c;
  }
  text += '"';
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) line += ',';
    add_csv_cell(line, cells[i]);
  }
  return line + "\n";
}

}  // namespace headroom
