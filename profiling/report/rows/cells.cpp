#include "profiling/report/rows/cells.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <optional>

#include "text/words.h"

namespace headroom {

void add_bytes_columns(Table& table, const std::string& name) {
  table.columns.push_back({.name = name, .number = true});
  std::string exact = name + "_bytes";
  std::replace(exact.begin(), exact.end(), ' ', '_');
  table.columns.push_back({.name = exact, .number = true, .exact = true});
}

void add_bytes_cells(std::vector<std::string>& row, std::optional<int64_t> bytes,
                     const std::string& otherwise) {
  row.push_back(bytes ? format_bytes(*bytes) : otherwise);
  row.push_back(bytes ? std::to_string(*bytes) : kNotAvailable);
}

std::string bytes_in_full(int64_t bytes) {
  return format_bytes(bytes) + " (" + std::to_string(bytes) + " bytes)";
}

std::string signed_bytes(int64_t bytes) { return (bytes > 0 ? "+" : "") + format_bytes(bytes); }

namespace {

std::string percent_text(int64_t part, int64_t whole, const char* format) {
  if (whole == 0) return kNotAvailable;
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format,
                100.0 * static_cast<double>(part) / static_cast<double>(whole));
  return text.data();
}

}  // namespace

std::string percent(int64_t part, int64_t whole) { return percent_text(part, whole, "%.1f %%"); }

std::string signed_percent(int64_t change, int64_t from) {
  return percent_text(change, from, "%+.2f %%");
}

std::string grouped(int64_t value) {
  std::string text = std::to_string(value);
  const auto first = static_cast<std::ptrdiff_t>(value < 0 ? 1 : 0);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > first; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

std::string readable(const std::string& name) {
  std::string text = name;
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string environment_text(const Record& record, const char* name) {
  if (!record.environment.is_object()) return "";
  const auto it = record.environment.find(name);
  return it != record.environment.end() && it->is_string() ? it->get<std::string>() : "";
}

std::string hardware_name(const Record& record) { return environment_text(record, "device_name"); }

std::string device_name(const Record& record) {
  // libtorch calls every card cuda:N, a virtual one too.
  if (is_virtual(record.spec)) return to_string(record.spec.device);
  const auto it = record.environment.find("device");
  if (it != record.environment.end()) {
    if (it->is_string()) return it->get<std::string>();
    if (it->is_object() && it->contains("name") && (*it)["name"].is_string()) {
      return (*it)["name"].get<std::string>();
    }
  }
  return to_string(record.spec.device);
}

namespace {

bool asks_for_same_shape(const RunSpec& a, const RunSpec& b) {
  const auto same = [&](const auto& one) { return a.*one.given == b.*one.given; };
  return a.model_size == b.model_size &&
         std::all_of(kDimensionSettings.begin(), kDimensionSettings.end(), same) &&
         std::all_of(kLayerSettings.begin(), kLayerSettings.end(), same);
}

// model_config(), cached: a row needs it once for each dimension.
const ModelConfig& last_model_config(const RunSpec& spec) {
  thread_local RunSpec last;
  thread_local ModelConfig config = model_config(last);
  if (asks_for_same_shape(spec, last)) return config;
  config = model_config(spec);
  last = spec;
  return config;
}

}  // namespace

std::string setting_text(const Record& record, const Field& field) {
  if (field.group != FieldGroup::kModel) return field.get(record.spec);
  const auto* const dimension =
      std::find_if(kDimensions.begin(), kDimensions.end(),
                   [&](const Dimension& one) { return one.name == field.name; });
  if (dimension == kDimensions.end() && field.name != "model_size") return field.get(record.spec);
  try {
    const ModelConfig& shape = last_model_config(record.spec);
    return dimension == kDimensions.end() ? shape.name : std::to_string(shape.*dimension->size);
  } catch (const UsageError&) {  // the shape was refused
    return field.get(record.spec);
  }
}

std::string status_or_not_available(const Record& record) {
  return record.status == Status::kOk ? kNotAvailable : to_string(record.status);
}

}  // namespace headroom
