#include "profiling/theory/rehearsal/parallel/rank_functions.h"

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/parallel/moved_shapes.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

constexpr MovedCall kAdded = {MeshAxis::kTensor, Collective::kAllReduce};
constexpr MovedCall kGathered = {MeshAxis::kTensor, Collective::kAllGather};
constexpr MovedCall kScattered = {MeshAxis::kTensor, Collective::kReduceScatter};

ShapeTensor summed(const ShapeTensor& x, const char* name, const char* letters) {
  ShapeTensor whole = contiguous(x);
  count_moved(*x.run, kAdded, name, letters, whole.sizes, whole.dtype);
  return whole;
}

// A collective in place is no operation here.
ShapeTensor same_memory(const ShapeTensor& x) {
  ShapeTensor same = x.detach();
  same.is_view = false;  // _unsafe_view(): no base is kept
  return same;
}

ShapeTensor gathered(const ShapeTensor& x_BsD, int64_t ranks) {
  const Dims& sizes = x_BsD.sizes;
  const ShapeTensor all = empty(*x_BsD.run, {ranks, sizes[0], sizes[1], sizes[2]}, x_BsD.dtype);
  contiguous(x_BsD);
  const Dims whole = {sizes[0], ranks * sizes[1], sizes[2]};
  count_moved(*x_BsD.run, kGathered, kStream, "B*S*D", whole, x_BsD.dtype);
  return reshape(transpose(all, 0, 1), whole);
}

ShapeTensor summed_by_tokens(const ShapeTensor& x_BSD, int64_t ranks) {
  const Dims& sizes = x_BSD.sizes;
  const ShapeTensor all =
      contiguous(transpose(reshape(x_BSD, {sizes[0], ranks, sizes[1] / ranks, sizes[2]}), 0, 1));
  count_moved(*x_BSD.run, kScattered, kStream, "B*S*D", sizes, x_BSD.dtype);
  return empty(*x_BSD.run, {sizes[0], sizes[1] / ranks, sizes[2]}, x_BSD.dtype);
}

// forward and backward as those of a torch::autograd::Function, which keeps nothing.
template <typename Forward, typename Backward>
ShapeTensor apply(const char* name, const ShapeTensor& x, Forward forward, Backward backward) {
  Run& run = *x.run;
  run.memory.site.operation = name;
  ShapeTensor made;
  {
    const GradMode no_grad(run, false);
    made = forward(x);
  }
  if (is_recorded({&x})) {
    attach(name, made, {&x},
           [backward](ShapeTensor& gradient) { return Tensors{backward(gradient)}; });
  }
  return made;
}

}  // namespace

ShapeTensor spread(const ShapeTensor& x) {
  return apply("Spread", x, same_memory,
               [](const ShapeTensor& gradient) { return summed(gradient, kStream, "B*S*D"); });
}

ShapeTensor sum_of_ranks(const ShapeTensor& x, const char* name, const char* letters) {
  return apply(
      "SumOfRanks", x,
      [=](const ShapeTensor& of) { return summed(same_memory(of), name, letters); },
      [](const ShapeTensor& gradient) { return gradient; });
}

ShapeTensor gather_tokens(const ShapeTensor& x_BsD, int64_t ranks) {
  return apply(
      "GatherTokens", x_BsD, [ranks](const ShapeTensor& x) { return gathered(x, ranks); },
      [ranks](const ShapeTensor& gradient) { return summed_by_tokens(gradient, ranks); });
}

ShapeTensor sum_by_tokens(const ShapeTensor& x_BSD, int64_t ranks) {
  return apply(
      "SumByTokens", x_BSD, [ranks](const ShapeTensor& x) { return summed_by_tokens(x, ranks); },
      [ranks](const ShapeTensor& gradient) { return gathered(gradient, ranks); });
}

}  // namespace headroom
