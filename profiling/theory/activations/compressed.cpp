#include "profiling/theory/activations/compressed.h"

#include <algorithm>
#include <array>

#include "profiling/theory/activations/layers/attention_lines.h"

namespace headroom {
namespace {

bool is_of_a_forward(const Row& row) {
  constexpr std::array<std::string_view, 5> kGroups = {kBlock, kEmbedding, kFinalNorm, kHead,
                                                       kLoss};
  return std::find(kGroups.begin(), kGroups.end(), row.group) != kGroups.end();
}

int64_t last_dimension(const Row& row) {
  if (row.sizes.empty()) return 1;
  const bool eager_v = row.tensor == "v_BHTK" && row.source.find("eager") != std::string::npos;
  if ((row.tensor == "k_BHTK" || eager_v) && row.sizes[2] == 1) return 1;
  return row.sizes.back();
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// Each norm packs the stream that it saves, so the stream's maker keeps it no longer: a block's
// output and the embedding are removed, unless the block that reads it saves nothing.
void move_streams(std::vector<Row>& rows, int64_t layers, int64_t min_bytes) {
  const auto output = std::find_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.group == kBlock && row.tensor == "output_BSD";
  });
  const auto reader = std::find_if(rows.begin(), rows.end(), [](const Row& row) {
    return row.group == kBlock && is_stream_of_a_norm(row);
  });
  if (output == rows.end()) return;
  if (output->bytes_each() < min_bytes) return;
  const Row stream = *output;
  // None if checkpointing recomputes every block.
  const Blocks readers = reader == rows.end() ? Blocks() : reader->blocks;
  for (Row& row : rows) {
    if (is_of_a_forward(row) && is_stream_of_a_norm(row)) take_over(row, stream);
  }
  Blocks kept;  // outputs that the next block reads unchanged
  for (int64_t block = 0; block + 1 < layers; ++block) {
    if (stream.blocks.contains(block) && !readers.contains(block + 1)) kept.add(block);
  }
  for (Row& row : rows) {
    if (row.group == kBlock && row.tensor == "output_BSD") row.blocks = kept;
  }
  std::erase_if(rows, [&](const Row& row) {
    if (row.group == kBlock) return row.blocks.empty();
    return row.group == kEmbedding && row.tensor == "embedded_BSD" && readers.contains(0);
  });
}

// The first node that saves a tensor packs it: for a norm's output the layer behind it, for rotated
// heads attention's product, for others their maker.
std::string packed_at(const Row& row) {
  if (row.saved_by.empty()) return row.source;  // the input of a recomputation
  const bool of_linear = row.saved_by.front().starts_with("BmmBackward0");
  if (row.tensor.ends_with(".output_BSD") && of_linear) {
    return "model/layers.cpp Linear::forward: einsum ...i,oi->...o";
  }
  if (row.source.find("rotate") == std::string::npos) return row.source;
  return std::string(of_linear ? kScoresProduct : kFusedAttention);
}

}  // namespace

bool is_low_or_single(DType dtype) {
  return dtype == DType::kFp32 || dtype == DType::kBf16 || dtype == DType::kFp16;
}

bool is_saved_whole(const Row& row, int64_t min_bytes) {
  return is_of_a_forward(row) && !row.saved_by.empty() && row.gradient && row.storages > 0 &&
         row.bytes_each() >= min_bytes;
}

bool bears_8_bits(const Row& row) {
  return is_low_or_single(row.dtype) && last_dimension(row) != 1;
}

bool is_stream_of_a_norm(const Row& row) {
  return row.tensor == "x_BSD" && row.storages == 0 && row.group != kParameters;
}

void take_over(Row& stream, const Row& of) {
  stream.storages = 1;
  stream.dtype = of.dtype;
  stream.bytes = stream.all_bytes();
  stream.derivation = of.derivation;
  stream.condition = "the residual stream, in a form of this norm's own";
}

Row scales_row(const Row& row, const Activations& activations) {
  Row scales = row;
  const int64_t numbers = row.bytes_each() / element_size(row.dtype);
  const std::string block = std::to_string(activations.block);
  scales.tensor += ".scales";
  scales.symbols = "scales";
  scales.sizes = {scales_of(numbers, activations.block)};
  scales.dtype = DType::kFp32;
  scales.saved_by.clear();
  scales.bytes = scales.all_bytes();
  scales.derivation = "(" + row.symbols + ") / " + block +
                      ", rounded up, * 4 B = " + std::to_string(numbers) + " / " + block + " * 4 B";
  if (scales.storages > 1) scales.derivation += ", " + std::to_string(scales.storages) + " times";
  scales.condition = "one for every " + block + " numbers that follow each other in memory";
  scales.source = "train/techniques/activations/quantize.cpp quantize";
  return scales;
}

Row codes_row(const Row& row, const Activations& activations) {
  Row codes = row;
  codes.saved_as = row.dtype;
  codes.dtype = activations.codes()->type;
  codes.bytes = codes.all_bytes();
  replace_all(codes.derivation, " * " + std::to_string(element_size(row.dtype)) + " B", " * 1 B");
  codes.condition = "8 bits instead of " + to_string(row.dtype);
  if (!row.condition.empty()) codes.condition += "; " + row.condition;
  codes.source = packed_at(row);
  return codes;
}

void compress_saved(std::vector<Row>& rows, const RunSpec& spec) {
  const Activations& activations = spec.activations;
  if (activations.exact() || activations.offloaded()) return;
  if (!builds_graph(spec.profile_type)) return;
  move_streams(rows, model_config(spec).layers, activations.min_bytes);
  std::vector<Row> compressed;
  for (const Row& row : rows) {
    if (!is_saved_whole(row, activations.min_bytes) || !bears_8_bits(row)) {
      compressed.push_back(row);
      continue;
    }
    compressed.push_back(codes_row(row, activations));
    compressed.push_back(scales_row(row, activations));
  }
  rows = std::move(compressed);
}

}  // namespace headroom
