#include "text/wrap.h"

#include <algorithm>

#include "text/printable.h"

namespace headroom {
namespace {

// Largest indentation: more would leave nothing of a narrow page.
size_t most_indent(size_t width) { return width / 2; }

// The break position in a word that does not fit, in bytes; at least one character.
size_t break_within(std::string_view word, size_t width) {
  size_t whole = bytes_within(word, width);
  if (whole == 0) whole = bytes_within(word, 2);  // one wide character, despite its width
  const size_t last = word.substr(0, whole).find_last_of("/_-.,:;=|");
  // A break near the beginning would leave the line empty.
  if (last != std::string_view::npos && last + 1 > whole / 3) return last + 1;
  return whole;
}

class Lines {
 public:
  Lines(size_t width, size_t indent)
      : width_(width), indent_(std::min(indent, most_indent(width))) {}

  void add(std::string_view space, std::string_view word) {
    if (!empty_ && used_ + space.size() + display_width(word) > width_) next();
    if (empty_ && !lines_.empty()) space = "";  // a continued line begins with its word
    append(space);
    while (used_ + display_width(word) > width_ && used_ < width_) {
      const std::string_view piece = word.substr(0, break_within(word, width_ - used_));
      append(piece);
      word.remove_prefix(piece.size());
      if (word.empty()) return;
      next();
    }
    append(word);
  }

  std::vector<std::string> finish() {
    lines_.push_back(line_);
    return std::move(lines_);
  }

 private:
  void append(std::string_view text) {
    line_ += text;
    used_ += display_width(text);
    empty_ = empty_ && text.empty();
  }
  void next() {
    lines_.push_back(line_);
    line_ = std::string(indent_, ' ');
    used_ = indent_;
    empty_ = true;
  }

  size_t width_;
  size_t indent_;
  std::vector<std::string> lines_;
  std::string line_;
  size_t used_ = 0;
  bool empty_ = true;
};

// The indentation of this line's continuations.
size_t hanging_indent(std::string_view line, size_t width) {
  const size_t own = std::min(line.find_first_not_of(' '), line.size());
  size_t column = own;
  for (size_t at = line.find("  ", own); at != std::string_view::npos; at = line.find("  ", at)) {
    at = std::min(line.find_first_not_of(' ', at), line.size());
    const size_t begin = display_width(line.substr(0, at));
    if (at < line.size() && begin <= most_indent(width)) column = begin;
  }
  return column;
}

// Takes the first line off the page.
std::string_view next_line(std::string_view& page) {
  const size_t end = std::min(page.find('\n'), page.size());
  const std::string_view line = page.substr(0, end);
  page.remove_prefix(std::min(end + 1, page.size()));
  return line;
}

// True if the page continues this line's paragraph: prose, not indented and not a list.
bool continues(std::string_view line, std::string_view page) {
  const std::string_view next = next_line(page);
  const auto is_prose = [](std::string_view text) {
    return !text.empty() && text.front() != ' ' && text.find("  ") == std::string_view::npos;
  };
  return is_prose(line) && is_prose(next);
}

// True if the next line holds only the rest of this one's last column.
bool fills_column(std::string_view line, std::string_view page, size_t width) {
  const std::string_view next = next_line(page);
  const size_t begin = std::min(next.find_first_not_of(' '), next.size());
  const size_t own = std::min(line.find_first_not_of(' '), line.size());
  return begin < next.size() && begin > own && begin == hanging_indent(line, width);
}

// Removes `excess` columns from the middle of the longest word of `text`; nothing if the word is
// too short.
std::string without_middle(const std::string& text, size_t excess) {
  constexpr std::string_view kGone = "...";
  constexpr size_t kEnds = 4;  // columns that stay at each end, at least
  size_t begin = 0;
  size_t size = 0;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if (end - at > size) begin = at, size = end - at;
    at = end + 1;
  }
  const size_t gone = excess + kGone.size();
  const std::string word = text.substr(begin, size);
  if (size < gone + 2 * kEnds || display_width(word) != size) return text;
  const size_t head = (size - gone) / 2;
  return text.substr(0, begin + head) + std::string(kGone) + text.substr(begin + head + gone);
}

}  // namespace

std::vector<std::string> wrapped(std::string_view text, size_t width, size_t indent) {
  if (width == 0 || display_width(text) <= width) return {std::string(text)};
  Lines lines(width, indent);
  for (size_t position = 0; position < text.size();) {
    const size_t begin = std::min(text.find_first_not_of(' ', position), text.size());
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (begin < end)
      lines.add(text.substr(position, begin - position), text.substr(begin, end - begin));
    position = end;
  }
  return lines.finish();
}

bool may_be_continued(std::string_view command) {
  return command.find_first_of("'\"\\") == std::string_view::npos;
}

std::vector<std::string> command_lines(std::string_view command, size_t width, size_t indent) {
  constexpr size_t kGoesOn = 2;  // columns of " \"
  const bool has_room = width > widest_word(command) + indent + kGoesOn;
  if (display_width(command) <= width || !has_room || !may_be_continued(command)) {
    return {std::string(command)};
  }
  std::vector<std::string> lines = wrapped(command, width - kGoesOn, indent);
  for (size_t i = 0; i + 1 < lines.size(); ++i) lines[i] += " \\";
  return lines;
}

std::string fitted(std::string_view page, size_t width) {
  if (width == 0) return std::string(page);
  std::string text;
  while (!page.empty()) {
    std::string line(next_line(page));
    // Joins the rest of a paragraph that was broken for a wider page.
    while (display_width(line) > width && continues(line, page)) {
      line.append(" ").append(next_line(page));
    }
    while (display_width(line) > width && fills_column(line, page, width)) {
      const std::string_view rest = next_line(page);
      line.append(" ").append(rest.substr(rest.find_first_not_of(' ')));
    }
    for (const std::string& piece : wrapped(line, width, hanging_indent(line, width))) {
      text.append(piece).append("\n");
    }
  }
  return text;
}

std::string shortened(const std::string& line, size_t width) {
  const size_t all = display_width(line);
  if (all <= width) return line;
  const std::string text = without_middle(line, all - width);
  return text.substr(0, bytes_within(text, width));
}

size_t widest_word(std::string_view text) {
  size_t widest = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    widest = std::max(widest, display_width(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return widest;
}

}  // namespace headroom
