#include "profiling/record/record_elements.h"

#include <cmath>
#include <concepts>
#include <functional>
#include <stdexcept>
#include <string>
#include <unordered_map>

#include "profiling/record/record_fields.h"
#include "text/quantity.h"

namespace headroom {
namespace {

using namespace std::string_view_literals;
using simdjson::SUCCESS;
using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

[[noreturn]] void refuse(const element& value, const char* wanted) {
  throw std::invalid_argument(std::string(simdjson::minify(value)).substr(0, 100) + " is no " +
                              wanted);
}

// In a Record, null stands for a missing figure.
void read(const element& value, int64_t& figure, Numbers numbers) {
  double fraction = 0;
  if (value.get(figure) != SUCCESS && !value.is_null()) {
    if (value.get(fraction) != SUCCESS || !(std::abs(fraction) < 0x1p63)) refuse(value, "number");
    figure = static_cast<int64_t>(fraction);
  }
  if (numbers == Numbers::kNotNegative && figure < 0) refuse(value, "number from 0 on");
}

// null stands for NaN and infinity.
void read(const element& value, double& number, Numbers numbers) {
  constexpr double kMostMilliseconds = 1e15;  // 30 thousand years
  if (value.is_null()) {
    number = std::nan("");
  } else if (value.get(number) != SUCCESS || !std::isfinite(number)) {
    refuse(value, "number");
  }
  if (numbers == Numbers::kMilliseconds && (number < 0 || number > kMostMilliseconds)) {
    refuse(value, "time in milliseconds");
  }
}

std::string text(const element& value) {
  std::string_view found;
  if (value.get(found) != SUCCESS && !value.is_null()) refuse(value, "text");
  return std::string(found);
}

object members(const element& value) {
  object found;
  if (value.get(found) != SUCCESS) refuse(value, "object");
  return found;
}

void read(const element& value, std::string& words, Numbers) { words = text(value); }
void read(const element& value, bool& fact, Numbers) {
  if (value.get(fact) != SUCCESS) refuse(value, "truth");
}
void read(const element& value, Status& status, Numbers) {
  status = status_from_string(text(value));
}
void read(const element& value, MemorySpace& space, Numbers) {
  space = parse_word<MemorySpace>("space", text(value));
}
void read(const element& value, SharedJson& tree, Numbers) {
  tree = nlohmann::json::parse(std::string(simdjson::minify(value)));
}
void read(const element& value, RunSpec& spec, Numbers);
template <HasFields Struct>
void read(const element& value, Struct& into, Numbers);
template <typename Value>
void read(const element& value, Named<Value>& named, Numbers numbers);

template <typename Value>
void read(const element& value, std::vector<Value>& list, Numbers numbers) {
  if (value.is_null()) return;
  array found;
  if (value.get(found) != SUCCESS) refuse(value, "list");
  list.reserve(found.size());
  for (const element inner : found) read(inner, list.emplace_back(), numbers);
}

template <typename Value>
void read(const element& value, HeapList<Value>& list, Numbers numbers) {
  std::vector<Value> items;
  read(value, items, numbers);
  list = std::move(items);
}

template <typename Value>
void read(const element& value, Named<Value>& named, Numbers numbers) {
  if (value.is_null()) return;
  const object of = members(value);
  named.reserve(of.size());
  for (const auto& [name, inner] : of) read(inner, named[name], numbers);
}

void read(const element& value, std::optional<int64_t>& figure, Numbers numbers) {
  if (!value.is_null()) read(value, figure.emplace(), numbers);
}

// Figures that are an object or missing.
template <HasFields Struct>
void read(const element& value, std::optional<Struct>& figures, Numbers numbers) {
  if (value.is_object()) read(value, figures.emplace(), numbers);
}
template <HasFields Struct>
void read(const element& value, HeapOptional<Struct>& figures, Numbers numbers) {
  if (value.is_object()) read(value, figures.emplace(), numbers);
}
template <HasFields Struct>
void read(const element& value, std::shared_ptr<const Struct>& figures, Numbers numbers) {
  if (!value.is_object()) return;
  Struct made;
  read(value, made, numbers);
  figures = std::make_shared<const Struct>(std::move(made));
}

template <HasFields Struct>
bool read_fields(const object& of, Struct& into, const std::string& prefix = "");

// Reads the keys of a struct from its owner's object.
template <HasFields Struct>
bool read_beside(const object& of, Struct& into, const std::string& prefix) {
  return read_fields(of, into, prefix);
}
template <HasFields Struct>
bool read_beside(const object& of, std::optional<Struct>& into, const std::string& prefix) {
  Struct made;
  if (!read_fields(of, made, prefix)) return false;
  into = std::move(made);
  return true;
}

// Returns false if none of the keys has a value.
template <HasFields Struct>
bool read_fields(const object& of, Struct& into, const std::string& prefix) {
  bool any = false;
  for_each_field<Struct>([&](const auto& field) {
    auto& member = into.*field.member;
    if constexpr (requires { read_beside(of, member, prefix); }) {
      if (field.is_beside()) {
        any |= read_beside(of, member, prefix + field.prefix);
        return;
      }
    }
    element value;
    if (of[prefix + field.key].get(value) != SUCCESS) return;
    read(value, member, field.numbers);
    any |= !value.is_null();
  });
  return any;
}

template <HasFields Struct>
void read(const element& value, Struct& into, Numbers) {
  read_fields(members(value), into);
}

// A field and its default value: most values in a file are the default.
struct KnownField {
  const Field* field = nullptr;
  std::string initial;
  std::optional<double> number;  // of an integer below 2^53 and of a fraction
};

std::unordered_map<std::string_view, KnownField> known_fields() {
  std::unordered_map<std::string_view, KnownField> known;
  for (const Field& field : fields()) {
    KnownField& row = known[field.name];
    row = {&field, field.get(RunSpec{}), std::nullopt};
    if (field.numeric()) row.number = std::stod(row.initial);
  }
  return known;
}

void read(const element& value, RunSpec& spec, Numbers) {
  static const auto kKnown = known_fields();
  std::string number;
  if (members(value).size() == 0) refuse(value, "settings of a run");
  for (const auto& [name, inner] : members(value)) {
    const auto found = kKnown.find(name);
    if (found == kKnown.end()) continue;
    double figure = 0;
    if (found->second.number && inner.get(figure) == SUCCESS && figure == *found->second.number) {
      continue;
    }
    std::string_view words;
    if (inner.get(words) != SUCCESS) words = number = simdjson::minify(inner);
    if (words != found->second.initial) found->second.field->set(spec, words);
  }
}

// Reads the value of one key of a row.
struct Key {
  Keep least = Keep::kPeaks;  // the least Keep to read it
  std::function<void(const element& value, Record& record)> read;
};

struct TextHash {
  using is_transparent = void;
  size_t operator()(std::string_view text) const { return std::hash<std::string_view>()(text); }
};
using Keys = std::unordered_map<std::string, Key, TextHash, std::equal_to<>>;

Keys keys_of_a_record() {
  Keys keys;
  for_each_field<Record>([&keys](const auto& field) {
    if constexpr (std::same_as<decltype(field.member), std::optional<MemoryBytes> Record::*>) {
      for_each_field<MemoryBytes>([&](const auto& inner) {
        if (*field.key != '\0') return;
        keys[std::string(field.prefix) + inner.key] = {
            field.least, [field, inner](const element& value, Record& record) {
              auto& bytes = record.*field.member;
              if (value.is_null()) return;
              if (!bytes) bytes.emplace();
              read(value, *bytes.*inner.member, inner.numbers);
            }};
      });
      if (field.is_beside()) return;
    }
    keys[field.key] = {field.least, [field](const element& value, Record& record) {
                         read(value, record.*field.member, field.numbers);
                       }};
  });
  return keys;
}

int64_t checked_version(const RowElements& row) {
  int64_t version = 0;
  read(*row.schema_version, version, Numbers::kNotNegative);
  if (version <= Record::kSchemaVersion) return version;
  throw std::invalid_argument("Record of schema version " + std::to_string(version) +
                              "; this program reads up to " +
                              std::to_string(Record::kSchemaVersion));
}

// Version 1 has no `space`: its only memory was the device's.
MemorySpace space_by_device(const RowElements& row) {
  std::string_view device;
  const bool has_environment = row.environment && row.environment->is_object();
  const element& holder = has_environment ? *row.environment : *row.spec;
  const bool says = holder["device"].get(device) == SUCCESS;
  return says && device == "cpu" ? MemorySpace::kHost : MemorySpace::kDevice;
}

}  // namespace

RowElements elements_of(const object& row) {
  RowElements found{.members = row};
  for (const auto& [name, value] : row) {
    for (const auto& [asked, element] : {std::pair{"schema_version"sv, &found.schema_version},
                                         {"status"sv, &found.status},
                                         {"spec"sv, &found.spec},
                                         {"environment"sv, &found.environment}}) {
      if (name == asked && !*element) *element = value;
    }
  }
  return found;
}

void read_elements(const RowElements& row, Keep keep, Record& record) {
  static const Keys kKeys = keys_of_a_record();
  const int64_t version = checked_version(row);
  record.space = space_by_device(row);
  for (const auto& [name, value] : row.members) {
    const auto found = kKeys.find(name);
    if (found == kKeys.end() || keep < found->second.least) continue;
    try {
      found->second.read(value, record);
    } catch (const UsageError&) {
      throw;  // the message names the setting
    } catch (const std::invalid_argument& error) {
      throw std::invalid_argument(std::string(name) + ": " + error.what());
    }
  }
  // Up to version 2 "flash" meant any kernel of scaled_dot_product_attention that libtorch chose.
  Attention& attention = record.spec.attention;
  if (version <= 2 && attention == Attention::kFlash) attention = Attention::kSdpa;
}

}  // namespace headroom
