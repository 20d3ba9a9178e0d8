#include "train/data/safetensors.h"

#include <array>
#include <cassert>
#include <cstring>
#include <nlohmann/json.hpp>

#include "text/quantity.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr int64_t kLengthBytes = 8;
constexpr const char* kMetadata = "__metadata__";

// Number of elements, or -1 if it is negative or does not fit.
int64_t element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

[[noreturn]] void refuse_file(const std::string& path, const std::string& example,
                              const std::string& problem) {
  throw UsageError(example.substr(0, example.find(' ')), path, problem, example);
}

MappedFile map_weights(const std::string& path, const std::string& example) {
  try {
    return MappedFile(path);
  } catch (const ReadError& error) {
    refuse_file(path, example, "cannot be read: " + error.reason());
  }
}

std::string header_of(const std::vector<SafetensorsWriter::Tensor>& tensors,
                      const std::vector<int64_t>& bytes,
                      const std::map<std::string, std::string>& metadata) {
  json header = json::object();
  if (!metadata.empty()) header[kMetadata] = metadata;
  int64_t offset = 0;
  for (size_t i = 0; i < tensors.size(); ++i) {
    header[tensors[i].name] = {{"dtype", tensors[i].dtype},
                               {"shape", tensors[i].shape},
                               {"data_offsets", {offset, offset + bytes[i]}}};
    offset += bytes[i];
  }
  std::string text = header.dump();
  text.resize((text.size() + 7) / 8 * 8, ' ');  // the data begins on an 8-byte boundary
  return text;
}

}  // namespace

int64_t safetensors_element_size(const std::string& dtype) {
  static const std::map<std::string, int64_t> kSizes = {
      {"F64", 8}, {"F32", 4}, {"F16", 2}, {"BF16", 2}, {"I64", 8}, {"I32", 4},
      {"I16", 2}, {"I8", 1},  {"U8", 1},  {"BOOL", 1}, {"U16", 2}, {"U32", 4}};
  const auto it = kSizes.find(dtype);
  return it == kSizes.end() ? 0 : it->second;
}

SafetensorsFile::SafetensorsFile(const std::string& path, const std::string& example)
    : path_(path), example_(example), file_(map_weights(path, example)) {
  read_header();
}

void SafetensorsFile::refuse(const std::string& problem) const {
  refuse_file(path_, example_, problem);
}

void SafetensorsFile::read_header() {
  const char* const map = file_.bytes().data();
  const auto bytes = static_cast<int64_t>(file_.bytes().size());
  if (bytes < kLengthBytes) refuse("is not a safetensors file");
  uint64_t length = 0;
  std::memcpy(&length, map, sizeof(length));
  if (length > static_cast<uint64_t>(bytes - kLengthBytes)) {
    refuse("is not a safetensors file, or is cut short: its header describes " +
           std::to_string(length) + " bytes of " + std::to_string(bytes));
  }
  const char* const text = map + kLengthBytes;
  const json header = json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) refuse("is not a safetensors file: its header is not JSON");
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(length);
  for (const auto& [name, item] : header.items()) {
    if (name == kMetadata) {
      for (const auto& [key, value] : item.items()) {
        if (value.is_string()) metadata_[key] = value.get<std::string>();
      }
      continue;
    }
    SafetensorsEntry entry;
    std::array<int64_t, 2> offsets{};
    try {
      entry.dtype = item.at("dtype").get<std::string>();
      entry.shape = item.at("shape").get<std::vector<int64_t>>();
      offsets = item.at("data_offsets").get<std::array<int64_t, 2>>();
    } catch (const json::exception&) {
      refuse("has a header entry that is not a tensor: " + name);
    }
    const int64_t count = element_count(entry.shape);
    entry.bytes = offsets[1] - offsets[0];
    const int64_t element = safetensors_element_size(entry.dtype);
    if (offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > bytes - data_begin || count < 0 ||
        element == 0 || entry.bytes / element != count || entry.bytes % element != 0) {
      refuse("is cut short or damaged at tensor " + name);
    }
    entry.data = map + data_begin + offsets[0];
    entries_[name] = entry;
  }
}

SafetensorsWriter::SafetensorsWriter(const std::string& path, const std::vector<Tensor>& tensors,
                                     const std::map<std::string, std::string>& metadata)
    : file_(path), tensors_(tensors) {
  for (const Tensor& tensor : tensors) {
    expected_bytes_.push_back(element_count(tensor.shape) * safetensors_element_size(tensor.dtype));
    assert(expected_bytes_.back() >= 0);
  }
  const std::string header = header_of(tensors, expected_bytes_, metadata);
  header_bytes_ = header.size();
  const uint64_t length = header.size();
  file_.write(&length, sizeof(length));
  file_.write(header.data(), header.size());
}

void SafetensorsWriter::append(const void* data, int64_t bytes) {
  assert(next_ < expected_bytes_.size() && bytes == expected_bytes_[next_]);
  ++next_;
  file_.write(data, static_cast<size_t>(bytes));
}

void SafetensorsWriter::commit(const std::map<std::string, std::string>& metadata) {
  const std::string header = header_of(tensors_, expected_bytes_, metadata);
  assert(header.size() == header_bytes_);
  file_.rewrite(kLengthBytes, header.data(), header_bytes_);
  commit();
}

void SafetensorsWriter::commit() {
  assert(next_ == expected_bytes_.size());
  file_.commit();
}

}  // namespace headroom
