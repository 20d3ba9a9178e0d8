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

// Bytes of one element; 0 for an unknown dtype.
int64_t safetensors_element_size(const std::string& dtype);

// A file mapped for reading. Entries point into the mapping.
class SafetensorsFile {
 public:
  // Throws UsageError with one line: no such file, cut short, offsets or sizes that do not agree.
  // example: the flag that it is read for, named in that line.
  explicit SafetensorsFile(const std::string& path,
                           const std::string& example = "--load-weights weights.safetensors");

  const std::map<std::string, SafetensorsEntry>& entries() const { return entries_; }
  // The header's other metadata, text by name.
  const std::map<std::string, std::string>& metadata() const { return metadata_; }

 private:
  void read_header();
  [[noreturn]] void refuse(const std::string& problem) const;

  std::string path_, example_;
  MappedFile file_;
  std::map<std::string, SafetensorsEntry> entries_;
  std::map<std::string, std::string> metadata_;
};

// Writes a file whose tensors are given one after another, so that only one of them need be in
// memory at a time.
class SafetensorsWriter {
 public:
  struct Tensor {
    std::string name;
    std::string dtype;
    std::vector<int64_t> shape;
  };

  // Writes to a temporary file beside `path`. Throws WriteError, one line, like every member below;
  // an existing file is then kept.
  SafetensorsWriter(const std::string& path, const std::vector<Tensor>& tensors,
                    const std::map<std::string, std::string>& metadata = {});

  // The bytes of the next of `tensors`, little-endian and packed, exactly of its size.
  void append(const void* data, int64_t bytes);

  // Call after the last tensor: syncs and renames. Without it `path` is unchanged.
  void commit();
  // With new metadata of equal header length: for values known only after the data, such as its
  // checksums.
  void commit(const std::map<std::string, std::string>& metadata);

 private:
  ReplaceFile file_;
  std::vector<Tensor> tensors_;
  size_t header_bytes_ = 0;
  std::vector<int64_t> expected_bytes_;  // by tensor
  size_t next_ = 0;
};

}  // namespace headroom
