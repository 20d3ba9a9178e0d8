#include "cli/terminal.h"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <string_view>

namespace headroom {
namespace {

std::string_view variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void colour(std::string& text, std::string_view word, std::string_view code) {
  const std::string painted = "\033[" + std::string(code) + "m" + std::string(word) + "\033[0m";
  for (size_t at = text.find(word); at != std::string::npos;
       at = text.find(word, at + painted.size())) {
    text.replace(at, word.size(), painted);
  }
}

}  // namespace

bool locale_is_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    std::string locale(variable(name));
    if (locale.empty()) continue;
    std::transform(locale.begin(), locale.end(), locale.begin(),
                   [](unsigned char letter) { return std::tolower(letter); });
    return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

size_t terminal_width(int descriptor) {
  if (::isatty(descriptor) != 1) return 0;
  const std::string_view columns = variable("COLUMNS");
  size_t width = 0;
  const auto [end, error] = std::from_chars(columns.data(), columns.data() + columns.size(), width);
  if (error == std::errc{} && end == columns.data() + columns.size() && width > 0) return width;
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

size_t page_width() {
  constexpr size_t kPipe = 160;
  struct stat stdout_is {};
  const bool is_pipe = ::fstat(STDOUT_FILENO, &stdout_is) == 0 && S_ISFIFO(stdout_is.st_mode);
  return is_pipe ? kPipe : terminal_width();
}

bool is_live(int descriptor) { return ::isatty(descriptor) == 1 && variable("TERM") != "dumb"; }

bool takes_colour() { return is_live(STDOUT_FILENO) && variable("NO_COLOR").empty(); }

std::string with_coloured_verdicts(std::string text) {
  colour(text, "FITS: ", "32");
  colour(text, "EXCEEDS: ", "31");
  colour(text, "NOTHING FITS", "31");
  return text;
}

}  // namespace headroom
