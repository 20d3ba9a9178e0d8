#include "profiling/record/record_reader.h"

#include <optional>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "files/line_reader.h"
#include "profiling/record/record_elements.h"

namespace headroom {
namespace {

using nlohmann::json;
using simdjson::SUCCESS;
using simdjson::dom::element;
using simdjson::dom::object;

static_assert(LineReader::kSlack >= simdjson::SIMDJSON_PADDING);

json tree(const element& value) {
  object members;
  simdjson::dom::array list;
  std::string_view text;
  int64_t whole = 0;
  uint64_t large = 0;
  double number = 0;
  bool truth = false;
  if (value.get(members) == SUCCESS) {
    json made = json::object();
    for (const auto& [name, inner] : members) made[std::string(name)] = tree(inner);
    return made;
  }
  if (value.get(list) == SUCCESS) {
    json made = json::array();
    for (const element inner : list) made.push_back(tree(inner));
    return made;
  }
  if (value.get(text) == SUCCESS) return text;
  if (value.get(whole) == SUCCESS) return whole;
  if (value.get(large) == SUCCESS) return large;
  if (value.get(truth) == SUCCESS) return truth;
  if (value.get(number) == SUCCESS) return number;
  return nullptr;
}

}  // namespace

struct RecordReader::State {
  simdjson::dom::parser parser;
  RowElements row;                                  // of the parsed line
  std::optional<RowFingerprint> fingerprint;        // of that line, once asked for
  std::unordered_map<uint64_t, SharedJson> shared;  // environments, by their hash

  SharedJson shared_environment(const element& environment, uint64_t hash) {
    SharedJson& known = shared[hash];
    if (!known.empty()) return known;
    json kept = tree(environment);
    for (const std::string_view name : kOfOneRow) kept.erase(std::string(name));
    return known = std::move(kept);
  }
};

RecordReader::RecordReader() : state_(std::make_unique<State>()) {}
RecordReader::~RecordReader() = default;

bool RecordReader::parse(std::string_view line) {
  constexpr bool kCopyForPadding = false;
  state_->fingerprint.reset();
  state_->row = {};
  element parsed;
  if (state_->parser.parse(line.data(), line.size(), kCopyForPadding).get(parsed) != SUCCESS) {
    return false;
  }
  object row;
  if (parsed.get(row) == SUCCESS) state_->row = elements_of(row);
  return true;
}

bool RecordReader::is_record() const { return state_->row.is_record(); }

RowFingerprint RecordReader::fingerprint() const {
  auto& known = state_->fingerprint;
  if (!known) known = fingerprint_of(state_->row);
  return *known;
}

Record RecordReader::record(Keep keep) {
  Record record;
  read(keep, record);
  return record;
}

void RecordReader::read(Keep keep, Record& record) {
  if (!is_record()) {
    throw std::invalid_argument("not a Record: schema_version, status or spec is missing");
  }
  read_elements(state_->row, keep, record);
  const auto& environment = state_->row.environment;
  if (!environment) return;
  record.environment = keep != Keep::kWhole && environment->is_object()
                           ? state_->shared_environment(*environment, fingerprint().environment)
                           : SharedJson(tree(*environment));
}

Record record_from_line(std::string_view line) {
  RecordReader reader;
  std::string padded(line);
  padded.resize(line.size() + LineReader::kSlack);
  if (!reader.parse({padded.data(), line.size()})) throw std::invalid_argument("no JSON");
  return reader.record(Keep::kWhole);
}

}  // namespace headroom
