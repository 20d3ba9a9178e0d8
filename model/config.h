// The shape of a decoder-only transformer, as plain data. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Pre-norm blocks, SwiGLU feed-forward, rotary positions; by default no biases and an output head
// of its own.
struct ModelConfig {
  std::string name;           // as on the command line; "custom" when dimensions were given
  int64_t d_model = 0;        // residual stream width
  int64_t d_ff = 0;           // SwiGLU inner width
  int64_t layers = 0;         // transformer blocks
  int64_t heads = 0;          // query heads
  int64_t kv_heads = 0;       // key/value heads; fewer than heads = grouped-query attention
  int64_t vocab_size = 0;     // rows of the token table and of the output head
  double rope_theta = 10000;  // base of the rotary frequencies
  double norm_eps = 1e-5;     // added to the mean square in RMSNorm
  int64_t max_context = 0;    // tokens the published model was trained for; 0 = no limit known
  int64_t outputs = 0;        // numbers that the head gives for a position; 0 = one for each token
                              // of the vocabulary, 1 = a value (critic, reward model)
  int64_t head_size = 0;      // elements of a head; 0 = d_model / heads
  bool tied_embeddings = false;  // the output head is the token table
  bool qkv_bias = false;         // biases of the query, key and value projections
  bool qk_norm = false;          // RMSNorm of each query and key head, before the rotation

  int64_t head_dim() const { return head_size != 0 ? head_size : heads > 0 ? d_model / heads : 0; }
  // False where it is d_model / heads.
  bool has_own_head_size() const {
    return head_size != 0 && (d_model % heads != 0 || head_size != d_model / heads);
  }
  int64_t q_dim() const { return head_dim() * heads; }
  int64_t kv_dim() const { return head_dim() * kv_heads; }
  int64_t head_outputs() const { return outputs != 0 ? outputs : vocab_size; }
  // A head of values is no token table.
  bool ties_head() const { return tied_embeddings && outputs == 0; }
};

// Every dimension once, in the order of the flags.
struct Dimension {
  const char* name;   // JSON key; the flag has dashes
  const char* label;  // in tables
  char letter;        // as in model/layers.h
  int64_t ModelConfig::*size;
};
inline constexpr auto kDimensions = std::to_array<Dimension>({
    {"d_model", "d_model", 'D', &ModelConfig::d_model},
    {"d_ff", "d_ff", 'F', &ModelConfig::d_ff},
    {"layers", "layers", 'L', &ModelConfig::layers},
    {"heads", "heads", 'H', &ModelConfig::heads},
    {"kv_heads", "key/value heads", 'G', &ModelConfig::kv_heads},
    {"vocab_size", "vocabulary", 'V', &ModelConfig::vocab_size},
    {"head_dim", "head dimension", 'K', &ModelConfig::head_size},
});
// The dimensions that this model has; a dimension of 0 is one that it lacks.
std::vector<Dimension> dimensions_of(const ModelConfig& config);

// Every layer that a model may have besides, in the order of the flags.
struct LayerSwitch {
  const char* name;   // JSON key; the flag has dashes
  const char* label;  // in tables
  bool ModelConfig::*on;
};
inline constexpr auto kLayerSwitches = std::to_array<LayerSwitch>({
    {"tied_embeddings", "tied embeddings", &ModelConfig::tied_embeddings},
    {"qkv_bias", "biases of q, k, v", &ModelConfig::qkv_bias},
    {"qk_norm", "norms of q, k", &ModelConfig::qk_norm},
});
// The labels of those that this model has.
std::vector<std::string> layer_switches_of(const ModelConfig& config);

// True if dimensions and layers are equal.
bool same_shape(const ModelConfig& a, const ModelConfig& b);
// 'D' -> d_model; 'K' -> of a head; 0 if the letter is no dimension's.
int64_t size_of_letter(char letter, const ModelConfig& config);

// Every named shape, in the tables' print order: the six sizes of the profiling assignment, then
// the Llama shapes of the RLHF documents (with those documents' vocabulary of 128,000).
const std::vector<ModelConfig>& named_configs();

// nullptr when there is no such name.
const ModelConfig* find_config(std::string_view name);

// Throws std::invalid_argument naming the wrong dimension: not positive, heads that do not divide
// the width, an odd head dimension (rotary positions need pairs), outputs below 0.
void validate(const ModelConfig& config);

}  // namespace headroom
