// Tensor parallelism with shapes for tensors: this rank's part of every matrix, and the layers that
// speak to the other ranks. Read beside train/parallel/tensor/tensor_layers.cpp. No torch here.
#pragma once

#include <cstdint>
#include <string_view>

#include "profiling/theory/rehearsal/operations/tensor.h"
#include "train/settings/spec.h"

namespace headroom {

class TensorShapes {
 public:
  TensorShapes(const RunSpec& spec, int64_t rank);

  int64_t ranks() const { return ranks_; }
  // parameter: its name in the model, or the end of it.
  Dims own(std::string_view parameter, Dims whole) const;
  // One rank counts the tensors that all ranks have.
  bool counts(std::string_view parameter) const;

  // Around attention and feed-forward, and before the head.
  ShapeTensor come(const ShapeTensor& x) const;
  ShapeTensor leave(const ShapeTensor& x) const;
  ShapeTensor embed(const ShapeTensor& table, const ShapeTensor& tokens_BS) const;
  ShapeTensor loss(const ShapeTensor& logits_BSV, const ShapeTensor& targets_BS) const;

 private:
  int64_t ranks_, rank_;
  bool by_tokens_;
};

}  // namespace headroom
