// Reads a file line by line, in the memory of one line. No torch here.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// The disk or the network failed after the file was opened. what() is one line.
class BrokenInput : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Reads files, pipes and devices. Memory is bounded: a line beyond kLongest is returned empty, and
// without a line end in kEndless bytes (/dev/zero) reading stops with an error.
class LineReader {
 public:
  static constexpr size_t kLongest = size_t{64} << 20;
  static constexpr size_t kEndless = size_t{1} << 30;
  static constexpr size_t kSlack = 64;  // readable bytes after a line, without meaning

  // Throws ReadError (files/mapped_file.h) if the file cannot be opened or is a folder.
  explicit LineReader(const std::string& path);
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  // The next line without its newline, valid until the next call; false at the end of the file.
  // Throws BrokenInput.
  bool next(std::string_view& line);

  int64_t number() const { return number_; }  // of the last line, from 1
  int64_t size() const { return size_; }      // of a file; 0 for pipes and devices
  int64_t given() const { return given_; }    // bytes of returned lines, with newlines
  bool cut_off() const { return cut_off_; }   // the last line was longer than kLongest

 private:
  bool fill();  // appends bytes to the buffer; false at the end of the file
  void skip_to_newline();

  std::string path_;
  int file_ = -1;
  std::vector<char> buffer_;
  size_t begin_ = 0;  // of the bytes not yet returned
  size_t end_ = 0;
  int64_t number_ = 0;
  int64_t size_ = 0;
  int64_t given_ = 0;
  bool cut_off_ = false;
};

}  // namespace headroom
