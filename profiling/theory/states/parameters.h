// The parameters of the model, as the theory's rows name them: their shapes in letters, how many
// there are, which is the largest.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

#include "profiling/theory/row_builder.h"

namespace headroom {

// Of a block's the one tensor stands for those of all blocks.
struct ParameterShape {
  const char* name;
  const char* shape;  // letters of a RowInput
  bool in_every_block;
  bool in_linear;  // it goes through a matrix product
  const char* source;

  bool is_matrix() const;
  std::string_view rows() const;  // the first dimension: "G*K" of "G*K D"
};

// In the order of model->parameters() but for the blocks, whose tensors are counted together.
inline constexpr ParameterShape kModelParameters[] = {
    {"token_embeddings", "V D", false, false, "model/layers.cpp Embedding"},
    {"ln1", "D", true, false, "model/layers.cpp RmsNorm"},
    {"attn.q_proj", "D D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"attn.k_proj", "G*K D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"attn.v_proj", "G*K D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"attn.output_proj", "D D", true, true, "model/attention.cpp CausalSelfAttention"},
    {"ln2", "D", true, false, "model/layers.cpp RmsNorm"},
    {"ffn.w1", "F D", true, true, "model/layers.cpp SwiGlu"},
    {"ffn.w2", "D F", true, true, "model/layers.cpp SwiGlu"},
    {"ffn.w3", "F D", true, true, "model/layers.cpp SwiGlu"},
    {"ln_final", "D", false, false, "model/layers.cpp RmsNorm"},
    {"lm_head", "V D", false, true, "model/transformer.cpp TransformerImpl"},
};

int64_t copies(const RowBuilder& sheet, const ParameterShape& parameter);  // tensors of that shape
int64_t elements(const RowBuilder& sheet, const ParameterShape& parameter);  // of one of them
int64_t row_count(const RowBuilder& sheet, const ParameterShape& parameter);

// Whether autocast casts it: it goes through a matrix product, and not one of FP8, which casts for
// itself.
bool is_cast(const RowBuilder& sheet, const ParameterShape& parameter);

// Of all parameters: how many tensors they are.
int64_t parameter_tensors(const RowBuilder& sheet);

// The first of those for which `size` is largest.
template <typename SizeOf>
const ParameterShape& largest_by(const SizeOf& size) {
  return *std::max_element(
      std::begin(kModelParameters), std::end(kModelParameters),
      [&](const ParameterShape& a, const ParameterShape& b) { return size(a) < size(b); });
}

// Of all, or of those that products cast.
const ParameterShape& largest_parameter(const RowBuilder& sheet, bool cast_only = false);

// A row for each parameter, its name with `row.name` behind it; shape and storages are the
// parameter's, and so is the source where the row has none.
void add_each(RowBuilder& sheet, const RowInput& row);

// One row, of the largest parameter alone.
void add_largest(RowBuilder& sheet, RowInput row);

}  // namespace headroom
