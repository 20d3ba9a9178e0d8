#include "profiling/theory/activations/compiled.h"

#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "profiling/theory/row_builder.h"
#include "text/words.h"
#include "train/kernels/region_settings.h"

namespace headroom {
namespace {

using nlohmann::json;

json region(const json& settings) {
  const std::string path = region_folder(settings) + "/region.json";
  std::ifstream file(path);
  json read = json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (read.is_discarded()) throw std::runtime_error(path + ": this region is not compiled yet");
  return read;
}

DType type_of(const std::string& name) {
  static const std::map<std::string, DType> kTypes = {
      {"float32", DType::kFp32}, {"bfloat16", DType::kBf16}, {"float16", DType::kFp16},
      {"float64", DType::kFp64}, {"int64", DType::kInt64},   {"int32", DType::kInt32},
      {"int8", DType::kInt8},    {"uint8", DType::kUint8},   {"bool", DType::kBool}};
  const auto known = kTypes.find(name);
  if (known == kTypes.end()) throw std::runtime_error("no row for a saved tensor of type " + name);
  return known->second;
}

std::string joined(const std::vector<int64_t>& sizes, const char* between) {
  std::string text;
  for (const int64_t size : sizes) text += (text.empty() ? "" : between) + std::to_string(size);
  return text;
}

// Elements of the storage of a new tensor: strides may leave gaps, which align its rows.
int64_t elements_of(const std::vector<int64_t>& shape, const std::vector<int64_t>& strides) {
  int64_t last = 0;
  for (size_t i = 0; i < shape.size(); ++i) last += (shape[i] - 1) * strides[i];
  return last + 1;
}

Row saved_row(const json& place, const json& inputs, const char* source) {
  Row row{.dtype = type_of(place.at("type")), .source = source, .saved_by = {"RegionBackward"}};
  place.at("shape").get_to(row.sizes);
  row.symbols = joined(row.sizes, ", ");
  if (place.contains("input")) {
    const std::string name = inputs.at(place.at("input").get<size_t>());
    row.tensor = name == "x" ? "x_BSD" : name;
    row.storages = 0;
    row.condition = "an input";
    return row;
  }
  row.tensor = place.at("operation");
  row.gradient = place.at("is_activation");
  const std::vector<int64_t> whole = row.sizes;
  const int64_t elements = elements_of(whole, place.at("strides"));
  int64_t product = 1;
  for (const int64_t size : whole) product *= size;
  if (elements != product) {
    row.sizes = {elements};
    row.condition = "with gaps that align its rows";
  }
  row.bytes = row.all_bytes();
  row.derivation = (row.sizes.empty() ? "1" : joined(row.sizes, "*")) + " * " +
                   std::to_string(element_size(row.dtype)) + " B";
  return row;
}

// The memory-efficient kernel has its seed and offset there, unless a CUDA graph is captured.
bool is_on_host(const json& place) {
  return place.value("operation", "") == "aten._scaled_dot_product_efficient_attention.default" &&
         place.at("type") == "int64";
}

std::vector<Row> rows_of(const json& settings, const char* group, const Blocks& blocks,
                         const char* source) {
  const json described = region(settings);
  std::vector<Row> rows;
  for (const json& place : described.at("saved")) {
    if (is_on_host(place)) continue;
    Row row = saved_row(place, described.at("inputs"), source);
    row.group = group;
    row.blocks = blocks;
    rows.push_back(std::move(row));
  }
  return rows;
}

}  // namespace

std::vector<Row> compiled_rows(const RunSpec& spec) {
  const std::vector<json> settings = region_settings(spec);
  const Blocks blocks = Blocks::all(model_config(spec).layers);
  RowBuilder sheet(spec);
  const auto add_stream = [&](const char* name, const char* condition) {
    sheet.add({.name = name,
               .shape = "B S D",
               .dtype = sheet.weight(),
               .source = "train/kernels/compiled_region.cpp CompiledRegion::run",
               .condition = condition});
  };
  std::vector<Row> rows = rows_of(settings[0], kBlock, blocks, "model/compiled/block.py block");
  sheet.begin(kBlock, blocks);
  add_stream("output", "residual stream; an input of the next region, which saves it");
  sheet.begin(kEmbedding);
  add_stream("embedded", "residual stream; an input of the first block, which saves it");
  sheet.begin(kLoss);
  sheet.add({.name = "loss",
             .shape = "",
             .dtype = sheet.exponential(),
             .source = "held by train/step.cpp"});
  for (Row& row : sheet.take()) rows.push_back(std::move(row));
  for (Row& row : rows_of(settings[1], kLoss, {}, "model/compiled/block.py head_loss")) {
    rows.push_back(std::move(row));
  }
  return rows;
}

void drop_casts(std::vector<Row>& rows) {
  std::erase_if(rows, [](const Row& row) {
    return is_one_of(row.group, {kCastCache, kPassingCast, kRecomputedCast});
  });
}

}  // namespace headroom
