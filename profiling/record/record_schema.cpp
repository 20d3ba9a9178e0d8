#include "profiling/record/record_schema.h"

#include <concepts>
#include <type_traits>

#include "profiling/record/record_fields.h"
#include "train/settings/spec.h"

namespace headroom {
namespace {

using Schema = nlohmann::ordered_json;

template <typename Value>
Schema schema_of(Numbers numbers);

Schema or_null(const Schema& schema) { return {{"anyOf", {schema, {{"type", "null"}}}}}; }

// nullable: the struct may be absent, and its keys are then null.
template <HasFields Struct>
void add_fields(Schema& properties, const std::string& prefix, bool nullable) {
  for_each_field<Struct>([&](const auto& field) {
    using Value = std::remove_cvref_t<decltype(std::declval<Struct>().*field.member)>;
    if constexpr (HasFields<Value>) {
      if (field.is_beside()) {
        return add_fields<Value>(properties, prefix + field.prefix, nullable);
      }
    } else if constexpr (MayBeAbsent<Value>) {
      using Inner = std::remove_cvref_t<decltype(*std::declval<const Value&>())>;
      if constexpr (HasFields<Inner>) {
        if (field.is_beside()) return add_fields<Inner>(properties, prefix + field.prefix, true);
      }
    }
    const Schema schema = schema_of<Value>(field.numbers);
    properties[prefix + field.key] = nullable ? or_null(schema) : schema;
  });
}

template <HasFields Struct>
Schema schema_of_struct() {
  Schema properties = Schema::object();
  add_fields<Struct>(properties, "", false);
  return {{"type", "object"}, {"properties", properties}};
}

// Words that a setting allows are examples only: some have parameters ("every:2").
Schema schema_of_settings() {
  Schema properties = Schema::object();
  for (const Field& field : fields()) {
    const char* const type = field.numeric() ? "number" : field.is_switch() ? "boolean" : "string";
    properties[field.name] = {{"type", type}, {"description", field.help}};
    if (!field.choices.empty() && !field.is_switch()) {
      properties[field.name]["examples"] = field.choices;
    }
  }
  return {{"type", "object"}, {"properties", properties}};
}

Schema schema_of_status() {
  std::vector<std::string> words;
  for (int i = 0; i <= static_cast<int>(Status::kTimeout); ++i) {
    words.push_back(to_string(static_cast<Status>(i)));
  }
  return {{"enum", words}};
}

template <typename Value>
Schema schema_of(Numbers numbers) {
  if constexpr (HasFields<Value>) {
    return schema_of_struct<Value>();
  } else if constexpr (std::same_as<Value, double>) {
    // NaN and infinity are written as null.
    Schema schema = {{"type", {"number", "null"}}};
    if (numbers == Numbers::kMilliseconds) schema["minimum"] = 0;
    return schema;
  } else if constexpr (std::same_as<Value, bool>) {
    return {{"type", "boolean"}};
  } else if constexpr (std::integral<Value>) {
    Schema schema = {{"type", "number"}};
    if (numbers == Numbers::kNotNegative) schema["minimum"] = 0;
    return schema;
  } else if constexpr (std::same_as<Value, std::string>) {
    return {{"type", "string"}};
  } else if constexpr (std::same_as<Value, Status>) {
    return schema_of_status();
  } else if constexpr (std::same_as<Value, MemorySpace>) {
    return {{"enum", choices_of<MemorySpace>()}};
  } else if constexpr (std::same_as<Value, RunSpec>) {
    return schema_of_settings();
  } else if constexpr (std::same_as<Value, SharedJson>) {
    return {{"type", {"object", "null"}}};
  } else if constexpr (MayBeAbsent<Value>) {
    return or_null(
        schema_of<std::remove_cvref_t<decltype(*std::declval<const Value&>())>>(numbers));
  } else if constexpr (kIsNamed<Value>) {
    using Inner = std::remove_cvref_t<decltype(std::declval<Value>().begin()->second)>;
    return {{"type", "object"}, {"additionalProperties", schema_of<Inner>(numbers)}};
  } else {
    static_assert(Sequence<Value>);
    return {{"type", "array"}, {"items", schema_of<typename Value::value_type>(numbers)}};
  }
}

}  // namespace

nlohmann::ordered_json record_schema() {
  Schema properties = {{"schema_version",
                        {{"type", "integer"}, {"minimum", 1}, {"maximum", Record::kSchemaVersion}}},
                       {"name", {{"type", "string"}}},
                       {"environment", {{"type", "object"}}}};
  add_fields<Record>(properties, "", false);
  return {{"$schema", "https://json-schema.org/draft/2020-12/schema"},
          {"title", "Record of headroom"},
          {"description", "One run of headroom. Bytes are exact; times are in milliseconds."},
          {"type", "object"},
          {"properties", properties},
          {"required", {"schema_version", "status", "spec"}}};
}

}  // namespace headroom
