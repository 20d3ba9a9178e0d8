#include "model/parameter_table.h"

#include <algorithm>

namespace headroom {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kLayers = "layers.";

int64_t size_in_entry(char letter, const ParameterEntry& entry, const ModelConfig& config) {
  if (letter == '*') return 1;
  if (letter == 'V' && entry.section == ModelSection::kFinal) return config.head_outputs();
  return size_of_letter(letter, config);
}

std::string_view without_layer_and_ending(std::string_view name) {
  if (name.size() >= kWeight.size() && name.substr(name.size() - kWeight.size()) == kWeight) {
    name.remove_suffix(kWeight.size());
  }
  if (name.substr(0, kLayers.size()) != kLayers) return name;
  return name.substr(name.find('.', kLayers.size()) + 1);
}

}  // namespace

const std::vector<ParameterEntry>& parameter_entries(const ModelConfig& /*config*/) {
  static const std::vector<ParameterEntry> kEntries = {
      {"token_embeddings", "V D", ModelSection::kEmbedding, Split::kRows, false,
       "model/layers.cpp Embedding"},
      {"ln1", "D", ModelSection::kBlock, Split::kWhole, false, "model/layers.cpp RmsNorm"},
      {"attn.q_proj", "D D", ModelSection::kBlock, Split::kRows, true,
       "model/attention.cpp CausalSelfAttention"},
      {"attn.k_proj", "G*K D", ModelSection::kBlock, Split::kRows, true,
       "model/attention.cpp CausalSelfAttention"},
      {"attn.v_proj", "G*K D", ModelSection::kBlock, Split::kRows, true,
       "model/attention.cpp CausalSelfAttention"},
      {"attn.output_proj", "D D", ModelSection::kBlock, Split::kColumns, true,
       "model/attention.cpp CausalSelfAttention"},
      {"ln2", "D", ModelSection::kBlock, Split::kWhole, false, "model/layers.cpp RmsNorm"},
      {"ffn.w1", "F D", ModelSection::kBlock, Split::kRows, true, "model/layers.cpp SwiGlu"},
      {"ffn.w2", "D F", ModelSection::kBlock, Split::kColumns, true, "model/layers.cpp SwiGlu"},
      {"ffn.w3", "F D", ModelSection::kBlock, Split::kRows, true, "model/layers.cpp SwiGlu"},
      {"ln_final", "D", ModelSection::kFinal, Split::kWhole, false, "model/layers.cpp RmsNorm"},
      {"lm_head", "V D", ModelSection::kFinal, Split::kRows, true,
       "model/transformer.cpp TransformerImpl"},
  };
  return kEntries;
}

std::string_view ParameterEntry::rows() const {
  const std::string_view letters = shape;
  return letters.substr(0, letters.find(' '));
}

const ParameterEntry* find_parameter(std::string_view name) {
  const std::string_view own = without_layer_and_ending(name);
  const std::vector<ParameterEntry>& entries = parameter_entries({});
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const ParameterEntry& entry) { return entry.name == own; });
  return found == entries.end() ? nullptr : &*found;
}

std::vector<int64_t> parameter_sizes(const ParameterEntry& entry, const ModelConfig& config) {
  std::vector<int64_t> sizes = {1};
  for (const char letter : std::string_view(entry.shape)) {
    if (letter == ' ') {
      sizes.push_back(1);
    } else {
      sizes.back() *= size_in_entry(letter, entry, config);
    }
  }
  return sizes;
}

int64_t parameter_elements(const ParameterEntry& entry, const ModelConfig& config) {
  int64_t elements = 1;
  for (const int64_t size : parameter_sizes(entry, config)) elements *= size;
  return elements;
}

double parameter_sum(const ModelConfig& config, bool (*counted)(const ParameterEntry&)) {
  double sum = 0;
  for (const ParameterEntry& entry : parameter_entries(config)) {
    if (!counted(entry)) continue;
    auto elements = static_cast<double>(entry.in_every_block() ? config.layers : 1);
    for (const char letter : std::string_view(entry.shape)) {
      if (letter != ' ') elements *= static_cast<double>(size_in_entry(letter, entry, config));
    }
    sum += elements;
  }
  return sum;
}

std::vector<ParameterRow> parameter_table(const ModelConfig& config) {
  std::vector<ParameterRow> rows;
  const auto add = [&](ModelSection section, const std::string& prefix) {
    for (const ParameterEntry& entry : parameter_entries(config)) {
      if (entry.section != section) continue;
      rows.push_back({.name = prefix + entry.name + std::string(kWeight),
                      .sizes = parameter_sizes(entry, config),
                      .section = section,
                      .split = entry.split});
    }
  };
  add(ModelSection::kEmbedding, "");
  for (int64_t layer = 0; layer < config.layers; ++layer) {
    add(ModelSection::kBlock, std::string(kLayers) + std::to_string(layer) + ".");
  }
  add(ModelSection::kFinal, "");
  return rows;
}

int64_t parameter_count(const ModelConfig& config, ModelSection section) {
  int64_t count = 0;
  for (const ParameterEntry& entry : parameter_entries(config)) {
    if (entry.section != section) continue;
    count += parameter_elements(entry, config) * (entry.in_every_block() ? config.layers : 1);
  }
  return count;
}

int64_t parameter_count(const ModelConfig& config) {
  return parameter_count(config, ModelSection::kEmbedding) +
         parameter_count(config, ModelSection::kBlock) +
         parameter_count(config, ModelSection::kFinal);
}

}  // namespace headroom
