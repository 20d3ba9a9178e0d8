// Every parameter of the model once: name, shape, place, split over tensor-parallel ranks. Theory,
// sharding, checkpoints and plans read this table. No torch here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/config.h"

namespace headroom {

enum class ModelSection { kEmbedding, kBlock, kFinal };  // final: the last norm and the output head

// Megatron's split of a weight over tensor-parallel ranks (Shoeybi et al. 2019, section 3).
enum class Split {
  kWhole,    // every rank holds all of it
  kRows,     // split by outputs: heads, d_ff, the vocabulary
  kColumns,  // split by inputs; the ranks add their products
};

struct ParameterEntry {
  const char* name;   // in a state_dict, without the prefix "layers.N." and the suffix ".weight";
                      // a bias with its own, ".bias"
  const char* shape;  // the letters of model/layers.h, rows first: "G*K D"
  ModelSection section;
  Split split;
  bool in_product;  // a matrix product reads it
  const char* source;

  bool in_every_block() const { return section == ModelSection::kBlock; }
  // In a state_dict, without the prefix: "attn.q_proj.weight".
  std::string full_name() const;
  bool is_matrix() const { return std::string_view(shape).find(' ') != std::string_view::npos; }
  // A norm of heads: a tensor-parallel rank has the gradient of its own heads only.
  bool is_of_each_head() const { return std::string_view(shape) == "K"; }
  // A matrix of a block, between the token table and the head. Muon is made for these.
  bool is_hidden_matrix() const { return in_every_block() && is_matrix(); }
  std::string_view rows() const;  // the first dimension: "G*K" of "G*K D"
};

// The tensors of this model, in the order of a forward pass; a block entry stands for that tensor
// in every block.
const std::vector<ParameterEntry>& parameter_entries(const ModelConfig& config);

// The entry of a name in any model, with or without "layers.N." and ".weight"; null if unknown.
const ParameterEntry* find_parameter(std::string_view name);

// Sizes of one such tensor. The head has head_outputs() rows, not always the vocabulary.
std::vector<int64_t> parameter_sizes(const ParameterEntry& entry, const ModelConfig& config);

struct ParameterRow {
  std::string name;  // in a state_dict: "layers.3.attn.q_proj.weight"
  std::vector<int64_t> sizes;
  ModelSection section = ModelSection::kBlock;
  Split split = Split::kWhole;
};

int64_t parameter_elements(const ParameterEntry& entry, const ModelConfig& config);
// Elements of the entries that `counted` takes, in all blocks. In floating point, so that
// no product of dimensions can overflow.
double parameter_sum(const ModelConfig& config, bool (*counted)(const ParameterEntry&));

// Every tensor of the model, one row each: the token table, block after block, the final section.
std::vector<ParameterRow> parameter_table(const ModelConfig& config);

// Exact number of parameters, in all sections or in one.
int64_t parameter_count(const ModelConfig& config);
int64_t parameter_count(const ModelConfig& config, ModelSection section);

}  // namespace headroom
