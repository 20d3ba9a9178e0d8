#include <bit>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/operations/reduce.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

Dims last_is_one(Dims sizes) {
  sizes[sizes.size() - 1] = 1;
  return sizes;
}

// Over the last dimension, or all.
void reduce_inner(const ShapeTensor& a, int64_t outputs, int64_t partial_bytes = 4) {
  if (outputs == 0) return;
  meet_in_memory(
      *a.run,
      {.outputs = outputs, .inputs = a.elements() / outputs, .partial_bytes = partial_bytes});
}

// Requests of cub::DeviceRadixSort::SortPairs() for 64-bit keys and values, by its requests
// of 1024 to 32768 pairs: nothing where one block of threads sorts them, else bins for each pass
// over 8 bits, a look-back for each tile and, of several passes, both arrays again.
int64_t sorting_bytes(int64_t pairs, int64_t largest_key) {
  constexpr int64_t kOneBlock = 2304;
  constexpr int64_t kTile = 4096;
  constexpr int64_t kDigits = 256;
  if (pairs <= kOneBlock) return 1;
  const int64_t passes = (std::bit_width(static_cast<uint64_t>(largest_key)) + 7) / 8;
  const int64_t again = passes > 1 ? 2 * 8 * pairs : 0;
  return again + passes * kDigits * 8 + (pairs + kTile - 1) / kTile * kDigits * 4 + 511;
}

}  // namespace

ShapeTensor sum_last(const ShapeTensor& a) {
  a.run->memory.site.operation = "sum";
  // Autocast's rule for sum: in FP32, without a copy of its input.
  ShapeTensor sum = empty(*a.run, last_is_one(a.sizes), a.run->autocast ? DType::kFp32 : a.dtype);
  reduce_inner(a, sum.elements());
  if (is_recorded({&a})) {
    attach("SumBackward1", sum, {&a},
           [sizes = a.sizes](ShapeTensor& grad) { return Tensors{expand(grad, sizes)}; });
  }
  return sum;
}

ShapeTensor mean_last(const ShapeTensor& a) {
  a.run->memory.site.operation = "mean";
  ShapeTensor mean = empty(*a.run, last_is_one(a.sizes), a.dtype);
  reduce_inner(a, mean.elements());
  if (is_recorded({&a})) {
    attach("MeanBackward1", mean, {&a}, [sizes = a.sizes](ShapeTensor& grad) {
      const ShapeTensor wide = expand(grad, sizes);
      return Tensors{empty(*wide.run, sizes, wide.dtype)};  // wide / n
    });
  }
  return mean;
}

ShapeTensor mean(const ShapeTensor& a) {
  a.run->memory.site.operation = "mean";
  ShapeTensor mean = empty(*a.run, {}, a.dtype);
  reduce_inner(a, 1);
  if (is_recorded({&a})) {
    attach("MeanBackward0", mean, {&a}, [sizes = a.sizes](ShapeTensor& grad) {
      return Tensors{empty(*grad.run, sizes, grad.dtype)};
    });
  }
  return mean;
}

ShapeTensor sum(const ShapeTensor& a) {
  a.run->memory.site.operation = "sum";
  ShapeTensor sum = empty(*a.run, {}, a.dtype == DType::kBool ? DType::kInt64 : a.dtype);
  reduce_inner(a, 1);
  if (is_recorded({&a})) {
    attach("SumBackward0", sum, {&a},
           [sizes = a.sizes](ShapeTensor& grad) { return Tensors{expand(grad, sizes)}; });
  }
  return sum;
}

ShapeTensor amax_last(const ShapeTensor& a) {
  a.run->memory.site.operation = "amax";
  ShapeTensor largest = empty(*a.run, last_is_one(a.sizes), a.dtype);
  reduce_inner(a, largest.elements());
  return largest;
}

ShapeTensor argmax_last(const ShapeTensor& a) {
  a.run->memory.site.operation = "argmax";
  Dims sizes = a.sizes;
  sizes.erase(a.dim() - 1);
  ShapeTensor places = empty(*a.run, sizes, DType::kInt64);
  constexpr int64_t kValueAndPlace = 16;  // bytes
  reduce_inner(a, places.elements(), kValueAndPlace);
  return places;
}

std::pair<ShapeTensor, ShapeTensor> max_last(const ShapeTensor& a) {
  a.run->memory.site.operation = "max";
  ShapeTensor values = empty(*a.run, last_is_one(a.sizes), a.dtype);
  ShapeTensor indices = empty(*a.run, last_is_one(a.sizes), DType::kInt64);
  constexpr int64_t kValueAndPlace = 16;  // bytes
  reduce_inner(a, values.elements(), kValueAndPlace);
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
  if (kept == a.sizes) return ahead > 0 ? view(a, sizes) : a;
  const ShapeTensor sum = empty(*a.run, kept, a.dtype);
  const bool inner = kept.back() == 1 && a.size(-1) != 1;
  meet_in_memory(
      *a.run, {.outputs = sum.elements(), .inputs = a.elements() / sum.elements(), .inner = inner});
  return ahead > 0 ? view(sum, sizes) : sum;
}

ShapeTensor gather_last(const ShapeTensor& a, const ShapeTensor& index) {
  const bool recorded = is_recorded({&a});
  const Saved saved_index = save_if(recorded, index);
  const Saved saved_a = save_if(recorded, a);
  a.run->memory.site.operation = "gather";
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

// The derivative: zeros of the whole, to which the gradient is added in its places.
ShapeTensor index_select(const ShapeTensor& a, int64_t dim, const ShapeTensor& ids) {
  const bool recorded = is_recorded({&a});
  const Saved saved = save_if(recorded, ids);
  a.run->memory.site.operation = "index_select";
  Dims sizes = a.sizes;
  sizes[dim] = ids.elements();
  ShapeTensor chosen = empty(*a.run, sizes, a.dtype);
  if (recorded) {
    attach("IndexSelectBackward0", chosen, {&a}, [was = a.sizes, saved](ShapeTensor& grad) {
      const ShapeTensor kept = saved.unpack();
      return Tensors{empty(*grad.run, was, grad.dtype)};
    });
  }
  return chosen;
}

// index_put_ with accumulation: it sorts the ids, with their places and what cub needs for both.
ShapeTensor index(const ShapeTensor& table, const ShapeTensor& ids) {
  const bool recorded = is_recorded({&table});
  const Saved saved = save_if(recorded, ids);
  table.run->memory.site.operation = "index";
  Dims sizes = ids.sizes;
  sizes.push_back(table.size(1));
  ShapeTensor rows = empty(*table.run, sizes, table.dtype);
  if (recorded) {
    attach("IndexBackward0", rows, {&table}, [rows = table.sizes, saved](ShapeTensor& grad) {
      Run& run = *grad.run;
      const ShapeTensor indices = saved.unpack();
      const Dims count = {indices.elements()};
      ShapeTensor gradient = empty(run, rows, grad.dtype);
      ShapeTensor wrapped = empty(run, count, DType::kInt64);
      const ShapeTensor linear = empty(run, count, DType::kInt64);
      wrapped = {};
      const ShapeTensor sorted = empty(run, count, DType::kInt64);
      const ShapeTensor order = empty(run, count, DType::kInt64);
      const ShapeTensor places = empty(run, count, DType::kInt64);
      run.allocate(sorting_bytes(count.product(), rows[0]));
      return Tensors{gradient};
    });
  }
  return rows;
}

}  // namespace headroom
