#include "profiling/snapshot/pickle/fields.h"

#include <utility>

namespace headroom {
namespace {

bool is_list(const PickleValue& value) {
  return value.kind == PickleKind::kList || value.kind == PickleKind::kTuple;
}

}  // namespace

void SnapshotFields::enter(const std::string& part, int64_t device, int64_t entry) {
  part_ = part;
  device_ = device;
  entry_ = entry;
}

std::string SnapshotFields::position() const {
  std::string text = part_;
  if (device_ >= 0) text += " of device " + std::to_string(device_);
  if (entry_ >= 0) text += ", entry " + std::to_string(entry_);
  return text;
}

void SnapshotFields::fail(const std::string& problem) const {
  throw PickleError(problem + (part_.empty() ? "" : ", in " + position()));
}

void SnapshotFields::note(bool is_error, const std::string& text) {
  Note& entry = notes_[text];
  entry.is_error = is_error;
  if (entry.count++ == 0) entry.first = part_.empty() ? "" : "first: " + position();
}

std::vector<SnapshotProblem> SnapshotFields::problems() const {
  std::vector<SnapshotProblem> problems;
  for (const auto& [text, found] : notes_) {
    std::string line = text;
    if (found.count > 1) line += " " + std::to_string(found.count) + " times";
    if (!found.first.empty()) line += ", " + found.first;
    problems.push_back({found.is_error, std::move(line)});
  }
  return problems;
}

const PickleValue* SnapshotFields::find(const PickleValue& dict, const char* key) {
  KnownKey& known = key_index_[key];
  if (!known.text && known.texts != pickle_.text_count()) {  // the file may have brought it
    known = {.text = pickle_.find_text(key), .texts = pickle_.text_count()};
  }
  return known.text ? pickle_.find(dict, *known.text) : nullptr;
}

void SnapshotFields::expect_dict(const PickleValue& value, const char* what) {
  if (value.kind != PickleKind::kDict) fail(std::string(what) + " is no dict");
  if (++entries_ > pickle_.facts().bytes)
    fail("the same list is repeated more often than a real snapshot would");
}

const std::vector<PickleValue>& SnapshotFields::items(const PickleValue& value,
                                                      const char* what) const {
  if (!is_list(value)) fail(std::string(what) + " is not a list");
  return pickle_.items(value);
}

const std::vector<PickleValue>& SnapshotFields::list(const PickleValue& dict, const char* key) {
  static const std::vector<PickleValue> kNothing;
  const PickleValue* value = find(dict, key);
  if (value == nullptr) return kNothing;
  if (!is_list(*value)) fail(std::string("'") + key + "' is not a list");
  return pickle_.items(*value);
}

int64_t SnapshotFields::number(const PickleValue& dict, const char* key, Need need,
                               int64_t fallback) {
  const PickleValue* value = find(dict, key);
  if (value == nullptr || value->kind == PickleKind::kNone) {
    if (need == Need::kNeeded) note(true, std::string("key '") + key + "' is missing");
    return fallback;
  }
  switch (value->kind) {
    case PickleKind::kBigInteger:
      note(true, std::string("'") + key +
                     "' has more than 8 bytes (the viewer cannot add it to other numbers)");
      return value->integer;
    case PickleKind::kInteger:
    case PickleKind::kBool:
      return value->integer;
    case PickleKind::kReal:
      if (value->real > -9.0e18 && value->real < 9.0e18) {
        return static_cast<int64_t>(value->real);
      }
      [[fallthrough]];
    default:
      fail(std::string("'") + key + "' is not a whole number");
  }
}

int64_t SnapshotFields::shown_number(const PickleValue& dict, const char* key) {
  const PickleValue* value = find(dict, key);
  if (value != nullptr && value->kind == PickleKind::kBigInteger) return value->integer;
  return number(dict, key, Need::kOptional);
}

uint64_t SnapshotFields::address(const PickleValue& dict, const char* key, Need need) {
  return static_cast<uint64_t>(number(dict, key, need));
}

std::string SnapshotFields::text(const PickleValue& dict, const char* key, Need need,
                                 const char* fallback) {
  const PickleValue* value = find(dict, key);
  if (value != nullptr && value->kind == PickleKind::kText) return pickle_.text(value->index);
  if (value != nullptr && value->kind != PickleKind::kNone) {
    fail(std::string("'") + key + "' is not text");
  }
  if (need == Need::kNeeded) note(true, std::string("key '") + key + "' is missing");
  return fallback;
}

int64_t SnapshotFields::bytes(const PickleValue& dict, const char* key, Need need) {
  const int64_t size = number(dict, key, need);
  if (size < 0) {
    note(true, std::string("'") + key + "' is negative");
    return 0;
  }
  if (size > (int64_t{1} << 62) - all_bytes_) fail("the sizes add up to more than 2^62 bytes");
  all_bytes_ += size;
  return size;
}

}  // namespace headroom
