// Letters of shapes as in train/parallel/waiting_gradients.cpp.
#include "profiling/theory/rehearsal/parallel/waiting_shapes.h"

#include <utility>

#include "profiling/theory/rehearsal/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor as_batch(const ShapeTensor& x) {
  const int64_t width = x.size(-1);
  return reshape(x, {1, x.elements() / width, width});
}

// The parameter's node takes it over, copies it or adds it.
void accumulate(const ShapeTensor& weight, ShapeTensor gradient) {
  if (gradient.dtype != weight.dtype) gradient = to(gradient, weight.dtype);
  weight.made_by->apply(gradient);
}

}  // namespace

ShapeTensor WaitingShapes::product(const ShapeTensor& x, const ShapeTensor& weight_OI) {
  Run& run = *x.run;
  const ShapeTensor left = run.autocast ? cast(x, *run.autocast) : x;
  const ShapeTensor right_OI = run.autocast ? cast(weight_OI, *run.autocast) : weight_OI;
  ShapeTensor y;
  {
    const GradMode no_grad(run, false);
    y = bmm(as_batch(left), unsqueeze(transpose(right_OI, 0, 1), 0));
  }
  y.sizes = x.sizes;
  y.sizes[y.sizes.size() - 1] = right_OI.size(0);
  y.strides = contiguous_strides(y.sizes);
  Node& node = attach("WaitingProduct", y, {&left});
  node.apply = [this, &run, parameter = weight_OI, saved_x = Saved(left),
                saved_weight = Saved(right_OI.detach())](ShapeTensor& gradient) {
    const ShapeTensor held = std::exchange(gradient, ShapeTensor());
    const ShapeTensor x_saved = saved_x.unpack();
    const ShapeTensor weight = saved_weight.unpack();
    const ShapeTensor dy_1NO = as_batch(held);
    const ShapeTensor dx = view(bmm(dy_1NO, unsqueeze(weight, 0)), x_saved.sizes);
    waiting_[now_].push_back({.weight = parameter,
                              .x = x_saved,
                              .dy_1NO = dy_1NO,
                              .gradient = {},
                              .block = run.memory.place.block});
    return Tensors{dx};
  };
  return y;
}

ShapeTensor WaitingShapes::seen(const ShapeTensor& weight) {
  ShapeTensor leaf = weight.detach();
  leaf.made_by = std::make_shared<Node>();
  leaf.made_by->name = "AccumulateGrad";
  leaf.made_by->block = weight.run->memory.place.block;
  leaf.made_by->sequence = UINT64_MAX;
  leaf.made_by->input = {weight.sizes, weight.dtype};
  leaf.made_by->apply = [this, weight](ShapeTensor& gradient) {
    waiting_[now_].push_back({.weight = weight,
                              .x = {},
                              .dy_1NO = {},
                              .gradient = std::exchange(gradient, ShapeTensor()),
                              .block = weight.run->memory.place.block});
    return Tensors{};
  };
  return leaf;
}

void WaitingShapes::make(int64_t micro_batch) {
  const auto found = waiting_.find(micro_batch);
  if (found == waiting_.end()) return;
  std::vector<Waiting> all = std::move(found->second);
  waiting_.erase(found);
  Run& run = *all.front().weight.run;
  const GradMode no_grad(run, false);
  for (Waiting& one : all) {
    run.memory.place.block = one.block;
    if (one.x.defined()) {
      const ShapeTensor made_1IO = bmm(transpose(as_batch(one.x), 1, 2), one.dy_1NO);
      one.gradient = transpose(squeeze(made_1IO, 0), 0, 1);
      one.x = one.dy_1NO = {};
    }
    accumulate(one.weight, std::exchange(one.gradient, ShapeTensor()));
  }
  run.memory.place.block = -1;
}

}  // namespace headroom
