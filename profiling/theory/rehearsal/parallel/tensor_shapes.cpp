#include "profiling/theory/rehearsal/parallel/tensor_shapes.h"

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/parallel/moved_shapes.h"
#include "profiling/theory/rehearsal/parallel/rank_functions.h"
#include "profiling/theory/rehearsal/run.h"
#include "train/parallel/tensor/tensor_plan.h"

namespace headroom {
namespace {

// Recorded in no graph.
ShapeTensor made_like(const char* operation, const ShapeTensor& like, DType dtype) {
  like.run->memory.site.operation = operation;
  return empty(*like.run, like.sizes, dtype);
}

// Marks of the tokens that other ranks have.
ShapeTensor elsewhere(const ShapeTensor& tokens) {
  ShapeTensor below = made_like("lt", tokens, DType::kBool);
  made_like("ge", tokens, DType::kBool);
  return below;
}

ShapeTensor masked_fill_in_place(const ShapeTensor& x, const ShapeTensor& mask) {
  ShapeTensor filled = x.detach();
  if (!is_recorded({&x})) return filled;
  attach("MaskedFillBackward0", filled, {&x}, [saved = Saved(mask)](ShapeTensor& gradient) {
    const ShapeTensor kept = saved.unpack();
    return Tensors{empty_like(gradient, gradient.dtype)};
  });
  return filled;
}

}  // namespace

TensorShapes::TensorShapes(const RunSpec& spec, int64_t rank)
    : ranks_(spec.mesh.size(MeshAxis::kTensor)),
      rank_(spec.mesh.place(rank, MeshAxis::kTensor)),
      by_tokens_(spec.sequence_parallel) {}

Dims TensorShapes::own(std::string_view parameter, Dims whole) const {
  const Split split = split_of(parameter);
  if (split == Split::kWhole) return whole;
  const int64_t dim = split == Split::kRows ? 0 : 1;
  whole[dim] = part_of(whole[dim], ranks_, rank_).length;
  return whole;
}

bool TensorShapes::counts(std::string_view parameter) const {
  return rank_ == 0 || split_of(parameter) != Split::kWhole;
}

ShapeTensor TensorShapes::come(const ShapeTensor& x) const {
  return by_tokens_ ? gather_tokens(x, ranks_) : spread(x);
}

ShapeTensor TensorShapes::leave(const ShapeTensor& x) const {
  return by_tokens_ ? sum_by_tokens(x, ranks_) : sum_of_ranks(x);
}

ShapeTensor TensorShapes::embed(const ShapeTensor& table, const ShapeTensor& tokens_BS) const {
  const ShapeTensor rows_BS = made_like("sub", tokens_BS, DType::kInt64);
  const ShapeTensor elsewhere_BS = elsewhere(rows_BS);
  const ShapeTensor x_BSD = index(table, made_like("masked_fill", rows_BS, DType::kInt64));
  return leave(masked_fill_in_place(x_BSD, unsqueeze(elsewhere_BS, 2)));
}

ShapeTensor TensorShapes::loss(const ShapeTensor& logits_BSV, const ShapeTensor& targets_BS) const {
  ShapeTensor highest_BS1;
  {
    const GradMode no_grad(*logits_BSV.run, false);
    highest_BS1 = max_last(logits_BSV).first;
    count_moved(*highest_BS1.run, {MeshAxis::kTensor, Collective::kAllReduce}, "highest_BS1",
                "B*S*1", highest_BS1.sizes, highest_BS1.dtype);
  }
  const ShapeTensor shifted_BSV = sub(logits_BSV, highest_BS1);
  const ShapeTensor sum_BS1 = sum_of_ranks(sum_last(exp(shifted_BSV)), "sum_BS1", "B*S*1");
  const ShapeTensor columns_BS1 = unsqueeze(made_like("sub", targets_BS, DType::kInt64), 2);
  const ShapeTensor elsewhere_BS1 = elsewhere(columns_BS1);
  const ShapeTensor target_BS1 = sum_of_ranks(
      masked_fill(gather_last(shifted_BSV, made_like("masked_fill", columns_BS1, DType::kInt64)),
                  elsewhere_BS1),
      "target_BS1", "B*S*1");
  return mean(sub(log(sum_BS1), target_BS1));
}

}  // namespace headroom
