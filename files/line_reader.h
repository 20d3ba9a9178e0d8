// A file's lines, one after another, in the memory of one line. No torch here.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// The file was opened, and then its disk or its network failed. what() is one line.
class BrokenInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Files, pipes and devices alike. Memory is bounded whatever is read: a line beyond kLongest is
// given empty, and where none ends for kEndless bytes (/dev/zero) reading is given up.
class LineReader {
 public:
  static constexpr size_t kLongest = size_t{64} << 20;
  static constexpr size_t kEndless = size_t{1} << 30;
  static constexpr size_t kSlack = 64;  // bytes after a line that may be read and mean nothing

  // Throws ReadError (files/mapped_file.h) on what cannot be opened, a folder too.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its newline, valid until the next call; false at the end of the file.
  // Throws BrokenInput.
  bool next(std::string_view& line);

  int64_t number() const { return number_; }  // of that line, from 1
  int64_t size() const { return size_; }      // of a file; 0 of a pipe and a device
  int64_t given() const { return given_; }    // bytes of lines, newlines included
  bool cut_off() const { return cut_off_; }   // it was longer than kLongest

 private:
  bool fill();  // more bytes behind those that are there; false at the end of the file
  void skip_to_newline();

  std::string path_;
  int file_ = -1;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of what was read and not given yet
  size_t end_ = 0;
  int64_t number_ = 0;
  int64_t size_ = 0;
  int64_t given_ = 0;
  bool cut_off_ = false;
};

}  // namespace headroom
