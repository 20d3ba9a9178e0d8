#include "model/parameter_table.h"

#include <algorithm>
#include <array>

namespace headroom {
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr std::string_view kBias = ".bias";
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

constexpr const char* kAttention = "model/attention.cpp CausalSelfAttention";
constexpr const char* kNorm = "model/layers.cpp RmsNorm";

// The settings that decide which entries a model has.
struct EntryKind {
  bool tied, bias, norms, own_head_size;
};

std::vector<ParameterEntry> make_entries(const EntryKind& kind) {
  constexpr ModelSection kBlock = ModelSection::kBlock;
  constexpr const char* kFeedForward = "model/layers.cpp SwiGlu";
  std::vector<ParameterEntry> all = {{"token_embeddings", "V D", ModelSection::kEmbedding,
                                      Split::kRows, kind.tied, "model/layers.cpp Embedding"},
                                     {"ln1", "D", kBlock, Split::kWhole, false, kNorm}};
  const char* const q_rows = kind.own_head_size ? "H*K" : "D";
  const auto add_projection = [&](const char* name, const char* shape, const char* bias,
                                  const char* rows) {
    all.push_back({name, shape, kBlock, Split::kRows, true, kAttention});
    if (kind.bias) all.push_back({bias, rows, kBlock, Split::kRows, false, kAttention});
  };
  add_projection("attn.q_proj", kind.own_head_size ? "H*K D" : "D D", "attn.q_proj.bias", q_rows);
  add_projection("attn.k_proj", "G*K D", "attn.k_proj.bias", "G*K");
  add_projection("attn.v_proj", "G*K D", "attn.v_proj.bias", "G*K");
  for (const char* name : {"attn.q_norm", "attn.k_norm"}) {
    if (kind.norms) all.push_back({name, "K", kBlock, Split::kWhole, false, kNorm});
  }
  all.push_back({"attn.output_proj", kind.own_head_size ? "D H*K" : "D D", kBlock, Split::kColumns,
                 true, kAttention});
  all.push_back({"ln2", "D", kBlock, Split::kWhole, false, kNorm});
  all.push_back({"ffn.w1", "F D", kBlock, Split::kRows, true, kFeedForward});
  all.push_back({"ffn.w2", "D F", kBlock, Split::kColumns, true, kFeedForward});
  all.push_back({"ffn.w3", "F D", kBlock, Split::kRows, true, kFeedForward});
  all.push_back({"ln_final", "D", ModelSection::kFinal, Split::kWhole, false, kNorm});
  if (!kind.tied) {
    all.push_back({"lm_head", "V D", ModelSection::kFinal, Split::kRows, true,
                   "model/transformer.cpp TransformerImpl"});
  }
  return all;
}

constexpr size_t kKinds = 16;

std::array<std::vector<ParameterEntry>, kKinds> make_all_entries() {
  std::array<std::vector<ParameterEntry>, kKinds> all;
  for (size_t i = 0; i < kKinds; ++i) {
    all[i] = make_entries({(i & 8) != 0, (i & 4) != 0, (i & 2) != 0, (i & 1) != 0});
  }
  return all;
}

const std::vector<ParameterEntry>& entries_of(const EntryKind& kind) {
  static const std::array<std::vector<ParameterEntry>, kKinds> kEntries = make_all_entries();
  return kEntries[(kind.tied ? 8U : 0U) | (kind.bias ? 4U : 0U) | (kind.norms ? 2U : 0U) |
                  (kind.own_head_size ? 1U : 0U)];
}

}  // namespace

const std::vector<ParameterEntry>& parameter_entries(const ModelConfig& config) {
  return entries_of({.tied = config.ties_head(),
                     .bias = config.qkv_bias,
                     .norms = config.qk_norm,
                     .own_head_size = config.has_own_head_size()});
}

std::string ParameterEntry::full_name() const {
  std::string full = name;
  if (!full.ends_with(kBias)) full += kWeight;
  return full;
}

std::string_view ParameterEntry::rows() const {
  const std::string_view letters = shape;
  return letters.substr(0, letters.find(' '));
}

const ParameterEntry* find_parameter(std::string_view name) {
  const std::string_view own = without_layer_and_ending(name);
  // Every parameter of any model.
  const std::vector<ParameterEntry>& entries =
      entries_of({.tied = false, .bias = true, .norms = true, .own_head_size = false});
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
      rows.push_back({.name = prefix + entry.full_name(),
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
