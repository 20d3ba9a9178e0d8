#include "profiling/theory/rehearsal/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

Dims last_is_one(Dims sizes) {
  sizes[sizes.size() - 1] = 1;
  return sizes;
}

}  // namespace

ShapeTensor sum_last(const ShapeTensor& a) {
  a.run->memory.place.operation = "sum";
  // Autocast's rule for sum: in FP32, without a copy of its input.
  ShapeTensor sum = empty(*a.run, last_is_one(a.sizes), a.run->autocast ? DType::kFp32 : a.dtype);
  if (is_recorded({&a})) {
    attach("SumBackward1", sum, {&a},
           [sizes = a.sizes](ShapeTensor& grad) { return Tensors{expand(grad, sizes)}; });
  }
  return sum;
}

ShapeTensor mean_last(const ShapeTensor& a) {
  a.run->memory.place.operation = "mean";
  ShapeTensor mean = empty(*a.run, last_is_one(a.sizes), a.dtype);
  if (is_recorded({&a})) {
    attach("MeanBackward1", mean, {&a}, [sizes = a.sizes](ShapeTensor& grad) {
      const ShapeTensor wide = expand(grad, sizes);
      return Tensors{empty(*wide.run, sizes, wide.dtype)};  // wide / n
    });
  }
  return mean;
}

ShapeTensor mean(const ShapeTensor& a) {
  a.run->memory.place.operation = "mean";
  ShapeTensor mean = empty(*a.run, {}, a.dtype);
  if (is_recorded({&a})) {
    attach("MeanBackward0", mean, {&a}, [sizes = a.sizes](ShapeTensor& grad) {
      return Tensors{empty(*grad.run, sizes, grad.dtype)};
    });
  }
  return mean;
}

std::pair<ShapeTensor, ShapeTensor> max_last(const ShapeTensor& a) {
  a.run->memory.place.operation = "max";
  ShapeTensor values = empty(*a.run, last_is_one(a.sizes), a.dtype);
  ShapeTensor indices = empty(*a.run, last_is_one(a.sizes), DType::kInt64);
  if (is_recorded({&a})) {
    Node& node = attach("MaxBackward0", values, {&a});
    node.apply = [sizes = a.sizes, saved = Saved(indices)](ShapeTensor& grad) {
      const ShapeTensor kept = saved.unpack();
      // Zeros into which the gradient is scattered.
      return Tensors{empty(*grad.run, sizes, grad.dtype)};
    };
  }
  return {values, indices};
}

ShapeTensor sum_to(const ShapeTensor& a, const Dims& sizes) {
  const int64_t ahead = a.dim() - sizes.size();
  Dims kept = a.sizes;
  for (int64_t i = 0; i < a.dim(); ++i) {
    if (i < ahead || sizes[i - ahead] == 1) kept[i] = 1;
  }
  const ShapeTensor sum = kept == a.sizes ? a : empty(*a.run, kept, a.dtype);
  return ahead > 0 ? view(sum, sizes) : sum;
}

ShapeTensor gather_last(const ShapeTensor& a, const ShapeTensor& index) {
  const bool recorded = is_recorded({&a});
  const Saved saved_index = save_if(recorded, index);
  const Saved saved_a = save_if(recorded, a);
  a.run->memory.place.operation = "gather";
  ShapeTensor gathered = empty(*a.run, index.sizes, a.dtype);
  if (recorded) {
    attach("GatherBackward0", gathered, {&a}, [saved_a, saved_index](ShapeTensor& grad) {
      const ShapeTensor ids = saved_index.unpack();
      const ShapeTensor self = saved_a.unpack();
      return Tensors{empty(*grad.run, self.sizes, grad.dtype)};
    });
  }
  return gathered;
}

// index_put_ with accumulation: it sorts the ids, with their places and what cub needs for both.
ShapeTensor index(const ShapeTensor& table, const ShapeTensor& ids) {
  const bool recorded = is_recorded({&table});
  const Saved saved = save_if(recorded, ids);
  table.run->memory.place.operation = "index";
  Dims sizes = ids.sizes;
  sizes.push_back(table.size(1));
  ShapeTensor rows = empty(*table.run, sizes, table.dtype);
  if (recorded) {
    attach("IndexBackward0", rows, {&table}, [rows = table.sizes, saved](ShapeTensor& grad) {
      Run& run = *grad.run;
      const ShapeTensor indices = saved.unpack();
      const Dims count = {indices.elements()};
      ShapeTensor gradient = empty(run, rows, grad.dtype);
      const ShapeTensor once = empty(run, count, DType::kInt64);
      const ShapeTensor linear = empty(run, count, DType::kInt64);
      const ShapeTensor sorted = empty(run, count, DType::kInt64);
      const ShapeTensor places = empty(run, count, DType::kInt64);
      return Tensors{gradient};
    });
  }
  return rows;
}

}  // namespace headroom
