// Splits a stream of bytes into lines, for a cell's stderr.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <string_view>

namespace headroom {

// The beginning of a progress line (bench/launch/progress.h).
inline constexpr std::string_view kProgressMark = "headroom-progress ";

// Splits a stream into lines, and keeps the last meaningful one.
class LineSplitter {
 public:
  static constexpr size_t kMaxLine = size_t{64} << 10;  // bytes; longer lines come in pieces

  explicit LineSplitter(const std::function<void(const std::string&)>& on_line)
      : on_line_(on_line) {}

  void add(const char* data, size_t size) {
    for (size_t start = 0; start < size;) {
      const char* newline = static_cast<const char*>(memchr(data + start, '\n', size - start));
      const size_t end = newline == nullptr ? size : static_cast<size_t>(newline - data);
      const size_t taken = std::min(end - start, kMaxLine - line_.size());
      line_.append(data + start, taken);
      start += taken;
      if (start == end && newline != nullptr) {
        ++start;
        emit();
      } else if (line_.size() == kMaxLine) {
        emit();
      }
    }
  }

  // Ends the stream: the rest without a newline is a line too.
  std::string finish() {
    if (!line_.empty()) emit();
    return last_;
  }

 private:
  void emit() {
    if (!line_.empty() && line_.back() == '\r') line_.pop_back();
    const bool blank = line_.find_first_not_of(" \t") == std::string::npos;
    const bool says_why = !line_.starts_with("frame #") && !line_.starts_with(kProgressMark);
    if (!blank && says_why) last_ = line_;
    if (on_line_) on_line_(line_);
    line_.clear();
  }

  const std::function<void(const std::string&)>& on_line_;
  std::string line_;
  std::string last_;
};

}  // namespace headroom
