// Forms of a row of fields(): how a setting of a type is read, written and compared.
#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "text/quantity.h"
#include "text/words.h"
#include "train/settings/spec.h"

namespace headroom::field_forms {

// Compares and hashes the member.
template <auto kMember>
Field compared(Field field) {
  using Value = std::remove_reference_t<decltype(std::declval<RunSpec>().*kMember)>;
  field.same = [](const RunSpec& a, const RunSpec& b) { return a.*kMember == b.*kMember; };
  field.hash = [](const RunSpec& spec) { return uint64_t{std::hash<Value>{}(spec.*kMember)}; };
  return field;
}

// For a member of several parts: compares and hashes its text.
template <auto kMember>
Field of_parts(Field field) {
  field.value = FieldValue::kWord;
  field.get = [](const RunSpec& spec) { return to_string(spec.*kMember); };
  field.same = [](const RunSpec& a, const RunSpec& b) {
    return to_string(a.*kMember) == to_string(b.*kMember);
  };
  field.hash = [](const RunSpec& spec) {
    return uint64_t{std::hash<std::string>{}(to_string(spec.*kMember))};
  };
  return field;
}

// The rows below name a member and a few facts; these templates supply get and parse for its type.
template <auto kMember, int64_t kMinimum, int64_t kMaximum>
Field integer(Field field) {
  field = compared<kMember>(std::move(field));
  field.value = FieldValue::kInteger;
  field.get = [](const RunSpec& spec) { return std::to_string(spec.*kMember); };
  field.parse = [](const Field& row, RunSpec& spec, std::string_view text) {
    spec.*kMember = parse_integer(row.flag(), text, kMinimum, kMaximum);
  };
  return field;
}

template <auto kMember, int kMaximum = 10>
Field number(Field field) {
  field = compared<kMember>(std::move(field));
  field.value = FieldValue::kNumber;
  field.get = [](const RunSpec& spec) { return shortest_text(spec.*kMember); };
  field.parse = [](const Field& row, RunSpec& spec, std::string_view text) {
    spec.*kMember = parse_number(row.flag(), text, 0.0, kMaximum);
  };
  return field;
}

// Any text; validate() or the code that opens the file checks it.
template <auto kMember>
Field text(Field field) {
  field = compared<kMember>(std::move(field));
  field.get = [](const RunSpec& spec) { return spec.*kMember; };
  field.parse = [](const Field&, RunSpec& spec, std::string_view value) {
    spec.*kMember = std::string(value);
  };
  return field;
}

// A path: one value, not timed, and no size depends on it.
template <auto kMember>
Field file(FieldValue value, Field field) {
  field.value = value;
  field.changes_result = value == FieldValue::kInputFile;
  field.timed = false;
  field.sizes = false;
  field.separator = '\0';
  return text<kMember>(std::move(field));
}

// One of the row's choices.
template <auto kMember>
Field choice(Field field) {
  field = text<kMember>(std::move(field));
  field.value = FieldValue::kWord;
  field.parse = [](const Field& row, RunSpec& spec, std::string_view value) {
    check_choice(row.flag(), value, row.choices, row.flag() + " " + row.choices.front());
    spec.*kMember = std::string(value);
  };
  return field;
}

// An enumeration with a list of words.
template <auto kMember>
Field word(Field field) {
  using Enum = std::remove_reference_t<decltype(std::declval<RunSpec>().*kMember)>;
  field = compared<kMember>(std::move(field));
  field.value = FieldValue::kWord;
  field.choices = choices_of<Enum>();
  field.get = [](const RunSpec& spec) { return word_of(spec.*kMember); };
  field.parse = [](const Field& row, RunSpec& spec, std::string_view value) {
    spec.*kMember = parse_word<Enum>(row.flag(), value);
  };
  return field;
}

template <auto kMember>
Field on_off(Field field) {
  field = compared<kMember>(std::move(field));
  field.value = FieldValue::kSwitch;
  field.choices = {"false", "true"};
  field.get = [](const RunSpec& spec) { return std::string(spec.*kMember ? "true" : "false"); };
  field.parse = [](const Field& row, RunSpec& spec, std::string_view value) {
    check_choice(row.flag(), value, row.choices, row.flag());
    spec.*kMember = value == "true";
  };
  return field;
}

inline Field device(Field field) {
  field = of_parts<&RunSpec::device>(std::move(field));
  field.parse = [](const Field&, RunSpec& spec, std::string_view value) {
    spec.device = parse_device(value);
  };
  return field;
}

inline Field activations(Field field) {
  field = of_parts<&RunSpec::activations>(std::move(field));
  field.choices = choices_of<ActivationForm>();
  field.parse = [](const Field&, RunSpec& spec, std::string_view value) {
    spec.activations = parse_activations(value);
  };
  return field;
}

inline Field checkpoint(Field field) {
  field = of_parts<&RunSpec::checkpoint>(std::move(field));
  field.help += ": " + join(choices_of<CheckpointKind>());
  field.parse = [](const Field& row, RunSpec& spec, std::string_view value) {
    spec.checkpoint = parse_checkpoint(row.flag(), value);
  };
  return field;
}

template <auto member>
Field offload(Field field) {
  field = of_parts<member>(std::move(field));
  field.choices = {"none", "cpu"};
  field.parse = [](const Field& row, RunSpec& spec, std::string_view value) {
    spec.*member = parse_offload(row.flag(), value);
  };
  return field;
}

inline Field mesh(Field field) {
  field = of_parts<&RunSpec::mesh>(std::move(field));
  field.separator = ';';
  field.parse = [](const Field& row, RunSpec& spec, std::string_view value) {
    spec.mesh = parse_mesh(row.flag(), value);
  };
  return field;
}

inline Field schedule(Field field) {
  field = of_parts<&RunSpec::schedule>(std::move(field));
  field.parse = [](const Field& row, RunSpec& spec, std::string_view value) {
    spec.schedule = parse_schedule(row.flag(), value);
  };
  return field;
}

}  // namespace headroom::field_forms
