// The safetensors format (github.com/huggingface/safetensors, "Format"): eight bytes of header
// length, a JSON header {name: {dtype, shape, data_offsets}}, then the bytes. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "files/mapped_file.h"
#include "files/replace_file.h"

namespace headroom {

struct SafetensorsEntry {
  std::string dtype;           // "F32", "BF16", "F16", "I64", ...
  std::vector<int64_t> shape;  // row-major
  const void* data = nullptr;  // little-endian, packed
  int64_t bytes = 0;
};

// Bytes of one element; 0 for a dtype this program does not know.
int64_t safetensors_element_size(const std::string& dtype);

// A file mapped for reading. Entries point into the mapping.
class SafetensorsFile {
 public:
  // Throws UsageError with one line: no such file, cut short, offsets or sizes that do not agree.
  // example: of the flag that it is read for, which the line names.
  explicit SafetensorsFile(const std::string& path,
                           const std::string& example = "--load-weights weights.safetensors");

  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  // What else the header says, text by name.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  void read_header();
  [[noreturn]] void refuse(const std::string& problem) const;

  std::string path_, example_;
  MappedFile file_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

// Writes a file whose tensors are given one after the other, so that never more than one of them
// need be in memory.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<int64_t> shape;
  };

  // Goes to a temporary file beside `path`. Throws WriteError, one line, like every member below;
  // an existing file is kept then.
  SafetensorsWriter(const std::string& path, const std::vector<Tensor>& tensors,
                    const std::map<std::string, std::string>& metadata = {});

  // The bytes of the next of `tensors`, little-endian and packed: exactly as many as its shape has.
  void append(const void* data, int64_t bytes);

  // After the last tensor: syncs and renames. Without it `path` is as it was.
  void commit();
  // The same with other metadata, of which the header is as long: what is known only after the
  // data, such as its checksums.
  void commit(const std::map<std::string, std::string>& metadata);

 private:
  ReplaceFile file_;
  std::vector<Tensor> tensors_;
  size_t header_bytes_ = 0;
  std::vector<int64_t> expected_bytes_;  // of each tensor
  size_t next_ = 0;
};

}  // namespace headroom
