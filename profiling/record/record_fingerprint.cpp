#include <algorithm>
#include <bit>
#include <cstring>

#include "profiling/record/record_elements.h"
#include "text/hash.h"

namespace headroom {
namespace {

using headroom::mix;
using simdjson::SUCCESS;
using simdjson::dom::element;
using simdjson::dom::element_type;

constexpr uint64_t kEnd = 1;  // of a list or an object

// Rows of one run differ in these. Of the process only its given memory counts.
constexpr const char* kTime = "time_utc";
constexpr const char* kProcess = "cell";

template <typename Number>
uint64_t number_at(const char* bytes) {
  Number number = 0;
  std::memcpy(&number, bytes, sizeof(number));
  return number;
}

// Hashes at most eight bytes. A call of memcpy would take longer than the rest.
uint64_t short_text(std::string_view text) {
  const char* begin = text.data();
  if (text.size() >= 4) {
    return number_at<uint32_t>(begin) << 32 | number_at<uint32_t>(begin + text.size() - 4);
  }
  uint64_t bytes = 0;
  for (const char byte : text) bytes = bytes << 8 | static_cast<unsigned char>(byte);
  return bytes;
}

// Eight bytes at a time: an environment has a hundred texts.
void mix_text(uint64_t& hash, std::string_view text) {
  const auto add = [&hash](uint64_t part) {
    hash = std::rotl((hash ^ part) * 0x9e3779b97f4a7c15ULL, 32);
  };
  add(text.size());
  while (text.size() > sizeof(uint64_t)) {
    add(number_at<uint64_t>(text.data()));
    text.remove_prefix(sizeof(uint64_t));
  }
  add(short_text(text));
}

void mix(uint64_t& hash, const element& value) {
  mix(hash, static_cast<uint64_t>(value.type()));
  switch (value.type()) {
    case element_type::ARRAY:
      for (const element inner : simdjson::dom::array(value)) mix(hash, inner);
      return mix(hash, kEnd);
    case element_type::OBJECT:
      for (const auto& [key, inner] : simdjson::dom::object(value)) {
        mix_text(hash, key);
        mix(hash, inner);
      }
      return mix(hash, kEnd);
    case element_type::STRING:
      return mix_text(hash, std::string_view(value));
    case element_type::INT64:
      return mix(hash, static_cast<uint64_t>(int64_t(value)));
    case element_type::UINT64:
      return mix(hash, uint64_t(value));
    case element_type::DOUBLE:
      return mix(hash, std::bit_cast<uint64_t>(double(value)));
    case element_type::BOOL:
      return mix(hash, uint64_t{bool(value)});
    case element_type::NULL_VALUE:
      return;
  }
}

void mix_environment(RowFingerprint& fingerprint, const simdjson::dom::object& environment) {
  for (const auto& [key, value] : environment) {
    const bool of_one_row = std::find(kOfOneRow.begin(), kOfOneRow.end(), key) != kOfOneRow.end();
    if (of_one_row && key == kTime) continue;
    uint64_t member = 0;
    mix_text(member, key);
    element memory;
    if (!of_one_row || key != kProcess) {
      mix(member, value);
    } else if (value["host_memory_bytes"].get(memory) == SUCCESS) {
      mix(member, memory);
    }
    mix(fingerprint.run, member);
    if (!of_one_row) mix(fingerprint.environment, member);
  }
}

}  // namespace

RowFingerprint fingerprint_of(const RowElements& row) {
  RowFingerprint fingerprint;
  if (row.spec) mix(fingerprint.settings, *row.spec);
  fingerprint.run = fingerprint.settings;
  if (row.status) mix(fingerprint.run, *row.status);
  if (row.environment && row.environment->is_object()) {
    mix_environment(fingerprint, simdjson::dom::object(*row.environment));
  }
  return fingerprint;
}

}  // namespace headroom
