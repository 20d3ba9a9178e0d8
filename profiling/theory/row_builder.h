// A sheet collects rows: it turns a shape in letters into sizes, bytes and a derivation.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "profiling/theory/activations/layers/attention_kernel.h"
#include "profiling/theory/rows.h"

namespace headroom {

// The writer's part of a row; the sheet computes the rest.
struct RowInput {
  std::string name;   // without the suffix; the sheet appends the letters of the shape
  std::string shape;  // "B H S T", "G*K D", "" for a scalar; letters as in model/layers.h, P = S
                      // padded, N = micro-batches, M = parameter tensors, C = chunks of the largest
                      // in foreach; for generation: L layers, I prompt tokens, J tokens of a
                      // sequence, W sequences of the cache, E its blocks; "V*D/256": rounded up; a
                      // number stands for itself
  DType dtype = DType::kFp32;
  std::string source;
  std::vector<std::string> saved_by;
  std::string condition;
  int64_t storages = 1;
  MemorySpace space = MemorySpace::kDevice;
  bool measured = true;
  bool gradient = true;
};

class RowBuilder {
 public:
  explicit RowBuilder(const RunSpec& spec);

  // The group of the rows added from here on; for kBlock, their blocks.
  void begin(std::string_view group, Blocks blocks = {});
  const std::string& group() const { return group_; }
  void add(const RowInput& input);
  // Adds a save of memory that another row counts.
  void alias(RowInput input);

  const RunSpec& spec() const { return spec_; }
  const ModelConfig& config() const { return config_; }
  bool autocast() const { return uses_autocast(spec_.precision); }
  bool cpu() const { return follows_cpu_policy(spec_); }
  // The type of matrix products; for FP8, of their results.
  DType compute() const;
  bool fp8() const { return spec_.precision == Precision::kFp8; }
  // The type of stored parameters, of the residual stream and of norms' outputs.
  DType weight() const { return weight_; }
  bool casts_weights() const { return compute() != weight(); }
  // The kernel of scaled_dot_product_attention: forced, or libtorch's choice.
  AttentionKernel attention_kernel() const;
  bool math_attention() const {
    return spec_.attention != Attention::kEager && attention_kernel() == AttentionKernel::kMath;
  }
  // The type of exp, sum and log: on autocast's FP32 list of CUDA, on no list of the CPU.
  DType exponential() const { return autocast() && !cpu() ? DType::kFp32 : compute(); }
  int64_t size(char letter) const;                   // 'B' -> sequences of one pass
  int64_t token_size(std::string_view token) const;  // "G*K" -> 8 * 64, "D/64" -> 12

  std::vector<Row> take() { return std::move(rows_); }
  const std::vector<Row>& rows() const { return rows_; }

 private:
  RunSpec spec_;
  ModelConfig config_;
  DType weight_;
  std::string group_;
  Blocks blocks_;
  std::vector<Row> rows_;
};

// Adds what these projections save of one input, (B, S, width), in FP8.
void add_fp8_input(RowBuilder& sheet, const std::string& name, const std::string& width,
                   const std::vector<std::string>& readers);

// Each fills its groups.
void add_activation_rows(RowBuilder& sheet);  // block, embedding, final norm, head, loss
void add_attention_rows(RowBuilder& sheet);   // the attention part of the block
void add_state_rows(RowBuilder& sheet);  // parameters, gradients, optimizer, casts, tables, inputs

// The number of chunks of a tensor in ATen's operations on lists.
int64_t foreach_chunks(int64_t elements);

}  // namespace headroom
