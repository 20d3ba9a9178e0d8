#include <optional>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor viewed(const ShapeTensor& a, const Dims& sizes, const Dims& strides) {
  ShapeTensor seen = a.detach();
  seen.sizes = sizes;
  seen.strides = strides;
  seen.is_view = true;
  return seen;
}

// Strides that give the memory of `a` other sizes, where there are such: at::detail::computeStride.
std::optional<Dims> strides_of_view(const ShapeTensor& a, const Dims& sizes) {
  if (a.elements() == 0) return contiguous_strides(sizes);
  Dims strides = sizes;
  int64_t at = sizes.size() - 1;
  int64_t base = a.dim() == 0 ? 1 : a.strides.back();
  int64_t in_chunk = 1;
  int64_t in_view = 1;
  for (int64_t i = a.dim() - 1; i >= 0; --i) {
    in_chunk *= a.sizes[i];
    const bool ends = i == 0 || (a.sizes[i - 1] != 1 && a.strides[i - 1] != in_chunk * base);
    if (!ends) continue;
    while (at >= 0 && (in_view < in_chunk || sizes[at] == 1)) {
      strides[at] = in_view * base;
      in_view *= sizes[at];
      --at;
    }
    if (in_view != in_chunk) return std::nullopt;
    if (i > 0) {
      base = a.strides[i - 1];
      in_chunk = 1;
      in_view = 1;
    }
  }
  while (at >= 0) strides[at--] = 1;  // of a scalar
  return strides;
}

// The gradient of a view is the same view the other way round.
template <typename Back>
void attach_view(const char* name, ShapeTensor& seen, const ShapeTensor& a, Back back) {
  if (!is_recorded({&a})) return;
  attach(name, seen, {&a}, [back](ShapeTensor& grad) { return Tensors{back(grad)}; });
}

ShapeTensor reshaped(const ShapeTensor& a, const Dims& sizes, const Dims& strides) {
  ShapeTensor seen = viewed(a, sizes, strides);
  attach_view("ViewBackward0", seen, a,
              [was = a.sizes](const ShapeTensor& grad) { return reshape(grad, was); });
  return seen;
}

}  // namespace

ShapeTensor view(const ShapeTensor& a, const Dims& sizes) {
  return reshaped(a, sizes, strides_of_view(a, sizes).value());
}

ShapeTensor reshape(const ShapeTensor& a, const Dims& sizes) {
  if (const auto strides = strides_of_view(a, sizes)) return reshaped(a, sizes, *strides);
  const ShapeTensor copy = clone(a);
  ShapeTensor seen = reshaped(copy, sizes, contiguous_strides(sizes));
  seen.is_view = false;  // _unsafe_view(): no base is kept
  return seen;
}

ShapeTensor permute(const ShapeTensor& a, const Dims& order) {
  Dims sizes = a.sizes;
  Dims strides = a.strides;
  Dims inverse = order;
  for (int64_t i = 0; i < order.size(); ++i) {
    sizes[i] = a.sizes[order[i]];
    strides[i] = a.strides[order[i]];
    inverse[order[i]] = i;
  }
  ShapeTensor seen = viewed(a, sizes, strides);
  attach_view("PermuteBackward0", seen, a,
              [inverse](const ShapeTensor& grad) { return permute(grad, inverse); });
  return seen;
}

ShapeTensor transpose(const ShapeTensor& a, int64_t first, int64_t second) {
  Dims order = a.sizes;
  for (int64_t i = 0; i < order.size(); ++i) order[i] = i;
  std::swap(order[wrap(first, a.dim())], order[wrap(second, a.dim())]);
  return permute(a, order);
}

ShapeTensor unsqueeze(const ShapeTensor& a, int64_t dim) {
  Dims sizes = a.sizes;
  Dims strides = a.strides;
  strides.insert(dim, dim < a.dim() ? a.sizes[dim] * a.strides[dim] : 1);
  sizes.insert(dim, 1);
  ShapeTensor seen = viewed(a, sizes, strides);
  attach_view("UnsqueezeBackward0", seen, a,
              [dim](const ShapeTensor& grad) { return squeeze(grad, dim); });
  return seen;
}

ShapeTensor squeeze(const ShapeTensor& a, int64_t dim) {
  Dims sizes = a.sizes;
  Dims strides = a.strides;
  sizes.erase(dim);
  strides.erase(dim);
  ShapeTensor seen = viewed(a, sizes, strides);
  attach_view("SqueezeBackward1", seen, a,
              [dim](const ShapeTensor& grad) { return unsqueeze(grad, dim); });
  return seen;
}

// The derivative: zeros of the whole, the gradient copied into its place.
ShapeTensor select_last(const ShapeTensor& a) {
  Dims sizes = a.sizes;
  Dims strides = a.strides;
  sizes.erase(a.dim() - 1);
  strides.erase(a.dim() - 1);
  ShapeTensor seen = viewed(a, sizes, strides);
  attach_view("SelectBackward0", seen, a, [was = a.sizes](const ShapeTensor& grad) {
    return empty(*grad.run, was, grad.dtype);
  });
  return seen;
}

ShapeTensor narrow(const ShapeTensor& a, int64_t dim, int64_t length) {
  Dims sizes = a.sizes;
  sizes[wrap(dim, a.dim())] = length;
  ShapeTensor seen = viewed(a, sizes, a.strides);
  attach_view("SliceBackward0", seen, a, [was = a.sizes](const ShapeTensor& grad) {
    return empty(*grad.run, was, grad.dtype);
  });
  return seen;
}

ShapeTensor expand(const ShapeTensor& a, const Dims& sizes) {
  const int64_t ahead = sizes.size() - a.dim();
  Dims strides = sizes;
  for (int64_t i = 0; i < sizes.size(); ++i) {
    const bool is_new = i < ahead || a.sizes[i - ahead] != sizes[i];
    strides[i] = is_new ? 0 : a.strides[i - ahead];
  }
  ShapeTensor seen = viewed(a, sizes, strides);
  attach_view("ExpandBackward0", seen, a,
              [was = a.sizes](const ShapeTensor& grad) { return sum_to(grad, was); });
  return seen;
}

ShapeTensor clone(const ShapeTensor& a) {
  if (!a.run->is_in_node()) a.run->memory.site.operation = "clone";
  ShapeTensor copy = empty(*a.run, a.sizes, a.dtype);
  if (is_recorded({&a})) {
    attach("CloneBackward0", copy, {&a}, [](ShapeTensor& grad) { return Tensors{grad}; });
  }
  return copy;
}

ShapeTensor contiguous(const ShapeTensor& a) { return a.is_contiguous() ? a : clone(a); }

ShapeTensor cat_last(const ShapeTensor& first, const ShapeTensor& second) {
  Run& run = *first.run;
  run.memory.site.operation = "cat";
  Dims sizes = first.sizes;
  sizes[sizes.size() - 1] += second.size(-1);
  ShapeTensor joined = empty(run, sizes, first.dtype);
  if (is_recorded({&first, &second})) {
    attach("CatBackward0", joined, {&first, &second},
           [one = first.size(-1), two = second.size(-1)](ShapeTensor& grad) {
             return Tensors{narrow(grad, -1, one), narrow(grad, -1, two)};
           });
  }
  return joined;
}

}  // namespace headroom
