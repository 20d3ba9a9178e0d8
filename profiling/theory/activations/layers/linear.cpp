#include "profiling/theory/activations/layers/linear.h"

namespace headroom {

// Note [Casts under autocast]
// Rationale: a matrix product casts FP32 inputs, and its node keeps the casts. Autocast caches
//   those of weights only: the FP32 output of a norm is cast once for each projection that reads
//   it. On CUDA einsum is on autocast's list. On the CPU it is not: its products see views of the
//   weights, and nothing is cached. Without a graph a cast dies with its product.
// Approach: a norm's output is one storage in FP32, however many projections read it; in autocast
//   it is one storage per projection. The cast weights have groups of their own (states.cpp).
// Limits: low-precision inputs (the merged heads, the gated product) are not cast. einsum over a
//   dimension of one element (d_ff 1) is no matrix product.
void add_norm_output(RowBuilder& sheet, const std::string& name,
                     const std::vector<std::string>& readers, const std::string& source) {
  if (sheet.fp8() && readers.front() != "lm_head") {
    return add_fp8_input(sheet, name, "D", readers);
  }
  std::vector<std::string> saved_by;
  saved_by.reserve(readers.size());
  for (const auto& reader : readers) saved_by.push_back("BmmBackward0.self of " + reader);
  if (sheet.autocast()) {
    sheet.add({.name = name + "_cast",
               .shape = "B S D",
               .dtype = sheet.compute(),
               .source = "model/layers.cpp Linear::forward: einsum ...i,oi->...o, its input cast",
               .saved_by = saved_by,
               .condition = "the FP32 norm output is cast once per projection",
               .storages = static_cast<int64_t>(readers.size())});
  } else {
    sheet.add({.name = name,
               .shape = "B S D",
               .dtype = sheet.weight(),
               .source = source,
               .saved_by = saved_by,
               .condition = "one storage read by every projection behind the norm"});
  }
}

void add_weight(RowBuilder& sheet, const std::string& name, const std::string& shape) {
  if (sheet.fp8() && name != "lm_head" && name != "token_embeddings") {
    return sheet.alias({.name = name + ".weight",
                        .shape = shape,
                        .source = "train/techniques/fp8_linear.cpp Fp8Product::forward",
                        .saved_by = {"Fp8Product.weight"},
                        .condition = "a parameter, cast again in backward"});
  }
  sheet.alias({.name = name + ".weight",
               .shape = shape,
               .dtype = sheet.compute(),
               .source = "model/layers.cpp Linear::forward: einsum ...i,oi->...o",
               .saved_by = {"BmmBackward0.mat2"},
               .condition = sheet.casts_weights() ? "counted in the cast cache" : "a parameter"});
}

}  // namespace headroom
