#include "text/columns.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "text/printable.h"
#include "text/wrap.h"

namespace headroom {
namespace {

constexpr size_t kGap = 2;           // spaces between two columns
constexpr size_t kLeastText = 20;    // least width of a text on several lines, if it is that long
constexpr size_t kContinuation = 2;  // indentation of a title's or note's continuation

using Columns = std::vector<size_t>;  // indices of the table's columns

// A column's widths: with each cell on one line, and at least.
struct Needs {
  size_t natural = 0;
  size_t least = 0;
};

std::vector<Needs> needs_of(const Table& table) {
  std::vector<Needs> needs;
  for (const Column& column : table.columns) {
    needs.push_back({.natural = display_width(column.name), .least = widest_word(column.name)});
  }
  for (const Cells& row : table.rows) {
    for (size_t i = 0; i < needs.size(); ++i) {
      const size_t width = display_width(row[i]);
      needs[i].natural = std::max(needs[i].natural, width);
      needs[i].least =
          std::max(needs[i].least, table.columns[i].number ? width : widest_word(row[i]));
    }
  }
  for (size_t i = 0; i < needs.size(); ++i) {
    if (table.columns[i].number) continue;
    needs[i].least = std::max(needs[i].least, std::min(needs[i].natural, kLeastText));
  }
  return needs;
}

class Layout {
 public:
  Layout(const Table& table, size_t page) : table_(table), page_(page), needs_(needs_of(table)) {
    break_long_words();
  }

  size_t natural(const Columns& columns) const { return sum(columns, &Needs::natural); }
  size_t least(const Columns& columns) const { return sum(columns, &Needs::least); }

  // One width per column: the widest columns shrink first.
  std::vector<size_t> widths(const Columns& columns) const {
    std::vector<size_t> widths;
    for (const size_t column : columns) widths.push_back(needs_[column].natural);
    size_t total = natural(columns);
    while (page_ > 0 && total > page_) {
      size_t* widest = nullptr;
      for (size_t i = 0; i < columns.size(); ++i) {
        if (widths[i] <= needs_[columns[i]].least) continue;
        if (widest == nullptr || widths[i] > *widest) widest = &widths[i];
      }
      if (widest == nullptr) break;
      --*widest;
      --total;
    }
    return widths;
  }

  // The columns in parts that fit, each beginning with the first `keys`; empty if one cannot fit.
  std::vector<Columns> parts(const Columns& columns) const {
    const size_t count = std::min(table_.keys, columns.size());
    const Columns keys(columns.begin(), columns.begin() + static_cast<std::ptrdiff_t>(count));
    std::vector<Columns> parts;
    for (size_t i = count; i < columns.size(); ++i) {
      if (!parts.empty()) {
        parts.back().push_back(columns[i]);
        if (least(parts.back()) <= page_) continue;
        parts.back().pop_back();
      }
      parts.push_back(keys);
      parts.back().push_back(columns[i]);
      if (least(parts.back()) > page_) return {};
    }
    return parts;
  }

 private:
  // Break a path rather than the table: a word is at most as wide as the keys leave room.
  void break_long_words() {
    size_t keys = 0;
    for (size_t i = 0; i < needs_.size(); ++i) {
      const bool is_key = i < table_.keys;
      const size_t room = is_key ? page_ / 2 : page_ - std::min(keys, page_);
      if (!table_.columns[i].number) {
        needs_[i].least = std::min(needs_[i].least, std::max(room, kLeastText));
      }
      if (is_key) keys += needs_[i].least + kGap;
    }
  }

  size_t sum(const Columns& columns, size_t Needs::*width) const {
    size_t total = columns.empty() ? 0 : kGap * (columns.size() - 1);
    for (const size_t column : columns) total += needs_[column].*width;
    return total;
  }

  const Table& table_;
  size_t page_;
  std::vector<Needs> needs_;
};

std::string padded(const std::string& text, size_t width, bool right) {
  const std::string space(width - std::min(width, display_width(text)), ' ');
  return right ? space + text : text + space;
}

bool is_command(const std::string& text) {
  return (text.starts_with("headroom ") || text.starts_with("this is headroom ")) &&
         may_be_continued(text);
}

std::vector<std::string> lines_of(const std::string& text, size_t width, size_t indent = 0) {
  if (!is_command(text) || width <= kNarrowestPage) return wrapped(text, width, indent);
  const std::vector<std::string> lines = command_lines(text, width, indent);
  // Only a page may have a line that is wider.
  return display_width(lines.front()) <= width ? lines : wrapped(text, width, indent);
}

// One row, on as many lines as its longest cell needs.
void add_row(std::string& text, const Table& table, const Columns& columns,
             const std::vector<size_t>& widths, const Cells& cells) {
  std::vector<std::vector<std::string>> lines;
  size_t height = 1;
  for (size_t i = 0; i < columns.size(); ++i) {
    lines.push_back(lines_of(cells[columns[i]], widths[i]));
    height = std::max(height, lines.back().size());
  }
  for (size_t number = 0; number < height; ++number) {
    std::string line;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) line += std::string(kGap, ' ');
      const std::string piece = number < lines[i].size() ? lines[i][number] : "";
      line += padded(piece, widths[i], table.columns[columns[i]].number);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
}

void add_part(std::string& text, const Table& table, const Columns& columns,
              const std::vector<size_t>& widths) {
  std::vector<std::string> names;
  std::vector<std::string> rules(table.columns.size());
  for (const Column& column : table.columns) names.push_back(column.name);
  for (size_t i = 0; i < columns.size(); ++i) rules[columns[i]] = std::string(widths[i], '-');
  add_row(text, table, columns, widths, names);
  add_row(text, table, columns, widths, rules);
  for (const Cells& row : table.rows) add_row(text, table, columns, widths, row);
}

// One line per cell: its column's name and its text.
void add_cells(std::string& text, const Table& table, size_t page) {
  size_t name_width = 0;
  for (const Column& column : table.columns) {
    name_width = std::max(name_width, display_width(column.name));
  }
  const char* between = "";
  for (const Cells& row : table.rows) {
    text += std::exchange(between, "\n");
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string line = padded(table.columns[i].name, name_width, false) + "  " + row[i];
      for (std::string& piece : wrapped(line, page, name_width + kGap)) {
        piece.erase(piece.find_last_not_of(' ') + 1);
        text += piece + "\n";
      }
    }
  }
}

void add_columns(std::string& text, const Table& table, size_t page, bool& folded) {
  Columns all(table.columns.size());
  std::iota(all.begin(), all.end(), 0);
  const Layout layout(table, page);
  if (page > 0 && layout.natural(all) > page) {
    std::erase_if(all, [&](size_t column) { return table.columns[column].picture; });
  }
  if (page == 0 || layout.least(all) <= page) {
    add_part(text, table, all, layout.widths(all));
    return;
  }
  folded = true;
  const std::vector<Columns> parts = layout.parts(all);
  for (const Columns& part : parts) {
    if (&part != &parts.front()) text += "\n";
    add_part(text, table, part, layout.widths(part));
  }
  if (parts.empty()) add_cells(text, table, page);
}

void add_lines(std::string& text, const std::string& words, size_t page) {
  for (const std::string& line : lines_of(words, page, kContinuation)) text += line + "\n";
}

}  // namespace

std::string text_of(const Table& table, size_t width, bool& folded) {
  const size_t page = width == 0 ? 0 : std::max(width, kNarrowestPage);
  std::string text;
  if (!table.title.empty()) add_lines(text, table.title, page);
  add_columns(text, table, page, folded);
  for (const std::string& note : table.notes) add_lines(text, note, page);
  return text;
}

std::string folded_note(size_t width) {
  std::string text;
  add_lines(text,
            "Folded to " + std::to_string(std::max(width, kNarrowestPage)) +
                " columns; whole rows: a wider terminal, or --format csv, md, json.",
            std::max(width, kNarrowestPage));
  return text;
}

}  // namespace headroom
