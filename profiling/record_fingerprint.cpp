#include <algorithm>
#include <bit>
#include <cstring>

#include "profiling/record_elements.h"
#include "text/hash.h"

namespace headroom {
namespace {

using headroom::mix;
using simdjson::SUCCESS;
using simdjson::dom::element;

constexpr uint64_t kEnd = 1;  // of a list or an object

// Rows of one run differ in these. Of the process only the memory that it was given counts.
constexpr const char* kTime = "time_utc";
constexpr const char* kProcess = "cell";

// Eight bytes at a time: an environment has a hundred texts.
void mix_text(uint64_t& hash, std::string_view text) {
  mix(hash, uint64_t{text.size()});
  while (text.size() > sizeof(uint64_t)) {
    uint64_t part = 0;
    std::memcpy(&part, text.data(), sizeof(part));
    hash = std::rotl((hash ^ part) * 0x9e3779b97f4a7c15ULL, 32);
    text.remove_prefix(sizeof(part));
  }
  uint64_t rest = 0;
  std::memcpy(&rest, text.data(), text.size());
  mix(hash, rest);
}

void mix(uint64_t& hash, const element& value) {
  mix(hash, static_cast<uint64_t>(value.type()));
  simdjson::dom::array list;
  simdjson::dom::object members;
  std::string_view text;
  uint64_t whole = 0;
  double number = 0;
  if (value.get(list) == SUCCESS) {
    for (const element inner : list) mix(hash, inner);
    mix(hash, kEnd);
  } else if (value.get(members) == SUCCESS) {
    for (const auto& [key, inner] : members) {
      mix_text(hash, key);
      mix(hash, inner);
    }
    mix(hash, kEnd);
  } else if (value.get(text) == SUCCESS) {
    mix_text(hash, text);
  } else if (value.get(whole) == SUCCESS) {
    mix(hash, whole);
  } else if (value.get(number) == SUCCESS) {
    mix(hash, std::bit_cast<uint64_t>(number));
  } else {
    mix(hash, static_cast<uint64_t>(value.is_bool() && bool(value)));
  }
}

void mix_environment(RowFingerprint& fingerprint, const simdjson::dom::object& environment) {
  for (const auto& [key, value] : environment) {
    uint64_t member = 0;
    mix_text(member, key);
    element memory;
    if (key != kProcess) {
      mix(member, value);
    } else if (value["host_memory_bytes"].get(memory) == SUCCESS) {
      mix(member, memory);
    }
    if (key != kTime) mix(fingerprint.run, member);
    if (std::find(kOfOneRow.begin(), kOfOneRow.end(), key) == kOfOneRow.end()) {
      mix(fingerprint.environment, member);
    }
  }
}

}  // namespace

RowFingerprint fingerprint_of(const simdjson::dom::object& row) {
  RowFingerprint fingerprint;
  element part;
  if (row["spec"].get(part) == SUCCESS) mix(fingerprint.settings, part);
  fingerprint.run = fingerprint.settings;
  if (row["status"].get(part) == SUCCESS) mix(fingerprint.run, part);
  simdjson::dom::object environment;
  if (row["environment"].get(environment) == SUCCESS) {
    mix_environment(fingerprint, environment);
  }
  return fingerprint;
}

}  // namespace headroom
