#include "train/data/safetensors.h"

#include <array>
#include <cstring>
#include <nlohmann/json.hpp>

#include "files/replace_file.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using nlohmann::json;

constexpr int64_t kLengthBytes = 8;

[[noreturn]] void refuse(const std::string& path, const std::string& problem) {
  throw UsageError("--load-weights", path, problem, "--load-weights weights.safetensors");
}

// Number of elements, or -1 when it is negative or does not fit.
int64_t element_count(const std::vector<int64_t>& shape) {
  int64_t count = 1;
  for (const int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(count, size, &count)) return -1;
  }
  return count;
}

MappedFile map_weights(const std::string& path) {
  try {
    return MappedFile(path);
  } catch (const ReadError& error) {
    refuse(path, "cannot be read: " + error.reason());
  }
}

std::string header_of(const std::vector<std::pair<std::string, SafetensorsEntry>>& entries) {
  json header = json::object();
  int64_t offset = 0;
  for (const auto& [name, entry] : entries) {
    header[name] = {{"dtype", entry.dtype},
                    {"shape", entry.shape},
                    {"data_offsets", {offset, offset + entry.bytes}}};
    offset += entry.bytes;
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

SafetensorsFile::SafetensorsFile(const std::string& path) : path_(path), file_(map_weights(path)) {
  read_header();
}

void SafetensorsFile::read_header() {
  const char* const map = file_.bytes().data();
  const auto bytes = static_cast<int64_t>(file_.bytes().size());
  if (bytes < kLengthBytes) refuse(path_, "is not a safetensors file");
  uint64_t length = 0;
  std::memcpy(&length, map, sizeof(length));
  if (length > static_cast<uint64_t>(bytes - kLengthBytes)) {
    refuse(path_, "is not a safetensors file, or is cut short: its header claims " +
                      std::to_string(length) + " bytes of " + std::to_string(bytes));
  }
  const char* const text = map + kLengthBytes;
  const json header = json::parse(text, text + length, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) refuse(path_, "is not a safetensors file: its header is not JSON");
  const int64_t data_begin = kLengthBytes + static_cast<int64_t>(length);
  for (const auto& [name, item] : header.items()) {
    if (name == "__metadata__") continue;
    SafetensorsEntry entry;
    std::array<int64_t, 2> offsets{};
    try {
      entry.dtype = item.at("dtype").get<std::string>();
      entry.shape = item.at("shape").get<std::vector<int64_t>>();
      offsets = item.at("data_offsets").get<std::array<int64_t, 2>>();
    } catch (const json::exception&) {
      refuse(path_, "has a header entry that is not a tensor: " + name);
    }
    const int64_t count = element_count(entry.shape);
    entry.bytes = offsets[1] - offsets[0];
    const int64_t element = safetensors_element_size(entry.dtype);
    if (offsets[0] < 0 || offsets[1] < offsets[0] || offsets[1] > bytes - data_begin || count < 0 ||
        element == 0 || entry.bytes / element != count || entry.bytes % element != 0) {
      refuse(path_, "is cut short or damaged at tensor " + name);
    }
    entry.data = map + data_begin + offsets[0];
    entries_[name] = entry;
  }
}

void write_safetensors(const std::string& path,
                       const std::vector<std::pair<std::string, SafetensorsEntry>>& entries) {
  ReplaceFile file(path);
  const std::string header = header_of(entries);
  const uint64_t length = header.size();
  file.write(&length, sizeof(length));
  file.write(header.data(), header.size());
  for (const auto& named : entries) {
    file.write(named.second.data, static_cast<size_t>(named.second.bytes));
  }
  file.commit();
}

}  // namespace headroom
