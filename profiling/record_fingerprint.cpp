#include "profiling/record_fingerprint.h"

#include <simdjson.h>

#include <functional>
#include <string>

#include "files/line_reader.h"

namespace headroom {
namespace {

using simdjson::dom::element;

static_assert(LineReader::kSlack >= simdjson::SIMDJSON_PADDING);

// Rows of one run differ in these. Of the process only the memory that it was given counts.
constexpr const char* kTime = "time_utc";
constexpr const char* kProcess = "cell";

void mix(uint64_t& hash, std::string_view text) {
  const uint64_t more = std::hash<std::string_view>{}(text);
  hash ^= more + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
}

void mix(uint64_t& hash, const element& value) {
  mix(hash, std::string_view(simdjson::minify(value)));
}

void mix_environment(uint64_t& hash, const simdjson::dom::object& environment) {
  for (const auto& [key, value] : environment) {
    if (key == kTime) continue;
    mix(hash, key);
    element memory;
    if (key != kProcess) {
      mix(hash, value);
    } else if (value["host_memory_bytes"].get(memory) == simdjson::SUCCESS) {
      mix(hash, memory);
    }
  }
}

}  // namespace

struct FingerprintReader::Parser {
  simdjson::dom::parser parser;
};

FingerprintReader::FingerprintReader() : parser_(std::make_unique<Parser>()) {}
FingerprintReader::~FingerprintReader() = default;

std::optional<RowFingerprint> FingerprintReader::read(std::string_view line) {
  element row;
  constexpr bool kCopyForPadding = false;
  if (parser_->parser.parse(line.data(), line.size(), kCopyForPadding).get(row) !=
      simdjson::SUCCESS) {
    return std::nullopt;
  }
  RowFingerprint fingerprint;
  element part;
  fingerprint.is_record = row["schema_version"].error() == simdjson::SUCCESS &&
                          row["status"].error() == simdjson::SUCCESS &&
                          row["spec"].error() == simdjson::SUCCESS;
  if (row["spec"].get(part) == simdjson::SUCCESS) mix(fingerprint.settings, part);
  fingerprint.run = fingerprint.settings;
  if (row["status"].get(part) == simdjson::SUCCESS) mix(fingerprint.run, part);
  simdjson::dom::object environment;
  if (row["environment"].get(environment) == simdjson::SUCCESS) {
    mix_environment(fingerprint.run, environment);
  }
  return fingerprint;
}

}  // namespace headroom
