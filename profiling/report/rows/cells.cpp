#include "profiling/report/rows/cells.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

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

// The settings behind a model's shape.
using ShapeSettings = std::pair<std::string, std::array<int64_t, 6>>;

// model_config(), cached: a row needs it once for each dimension.
const ModelConfig& last_model_config(const RunSpec& spec) {
  thread_local std::optional<ShapeSettings> last;
  thread_local ModelConfig config;
  ShapeSettings asked{
      spec.model_size,
      {spec.d_model, spec.d_ff, spec.layers, spec.heads, spec.kv_heads, spec.vocab_size}};
  if (asked == last) return config;
  config = model_config(spec);
  last = std::move(asked);
  return config;
}

}  // namespace

std::string setting_text(const Record& record, const Field& field) {
  if (field.group != FieldGroup::kModel) return field.get(record.spec);
  using Dimension = int64_t ModelConfig::*;
  static const std::map<std::string_view, Dimension> kDimensions = {
      {"d_model", &ModelConfig::d_model},   {"d_ff", &ModelConfig::d_ff},
      {"layers", &ModelConfig::layers},     {"heads", &ModelConfig::heads},
      {"kv_heads", &ModelConfig::kv_heads}, {"vocab_size", &ModelConfig::vocab_size}};
  const auto dimension = kDimensions.find(field.name);
  if (dimension == kDimensions.end() && field.name != "model_size") return field.get(record.spec);
  try {
    const ModelConfig& shape = last_model_config(record.spec);
    return dimension == kDimensions.end() ? shape.name : std::to_string(shape.*dimension->second);
  } catch (const UsageError&) {  // the shape was refused
    return field.get(record.spec);
  }
}

std::string status_or_not_available(const Record& record) {
  return record.status == Status::kOk ? kNotAvailable : to_string(record.status);
}

}  // namespace headroom
