// Operations of losses, advantages and sampling beside the model's own operations.
#include <algorithm>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

ShapeTensor like(const char* name, const ShapeTensor& a, DType dtype) {
  a.run->memory.site.operation = name;
  return empty_like(a, dtype);
}

// In backward the node's name stays.
ShapeTensor more(const ShapeTensor& a, DType dtype) { return empty_like(a, dtype); }

// at::where(self == other, grad / 2, grad).masked_fill_(self < other, 0), and the other way round.
ShapeTensor to_one_of_two(const ShapeTensor& grad) {
  const ShapeTensor half = more(grad, grad.dtype);
  const ShapeTensor equal = more(grad, DType::kBool);
  ShapeTensor chosen = more(grad, grad.dtype);
  const ShapeTensor less = more(grad, DType::kBool);
  return chosen;
}

ShapeTensor larger_or_smaller(const char* name, const char* node, const ShapeTensor& a,
                              const ShapeTensor& b) {
  const bool recorded = is_recorded({&a, &b});
  const Saved saved_b = save_if(recorded, b);
  const Saved saved_a = save_if(recorded, a);
  ShapeTensor made = like(name, a, a.dtype);
  if (recorded) {
    attach(node, made, {&a, &b},
           [saved_a, saved_b, for_a = a.requires_grad(),
            for_b = b.requires_grad()](ShapeTensor& grad) {
             const ShapeTensor other = saved_b.unpack();
             const ShapeTensor self = saved_a.unpack();
             ShapeTensor to_a;
             ShapeTensor to_b;
             if (for_b) to_b = to_one_of_two(grad);
             if (for_a) to_a = to_one_of_two(grad);
             return Tensors{to_a, to_b};
           });
  }
  return made;
}

}  // namespace

ShapeTensor comparison(const ShapeTensor& a) { return like("eq", a, DType::kBool); }

ShapeTensor masked_fill(const ShapeTensor& a, const ShapeTensor& mask) {
  const bool recorded = is_recorded({&a});
  const Saved saved = save_if(recorded, mask);
  a.run->memory.site.operation = "masked_fill";
  ShapeTensor filled = empty(*a.run, a.sizes, a.dtype);  // clone()
  if (recorded) {
    attach("MaskedFillBackward0", filled, {&a}, [saved](ShapeTensor& grad) {
      const ShapeTensor kept = saved.unpack();
      return Tensors{more(grad, grad.dtype)};
    });
  }
  return filled;
}

ShapeTensor clamp(const ShapeTensor& a) {
  const bool recorded = is_recorded({&a});
  const Saved saved = save_if(recorded, a);
  ShapeTensor clamped = like("clamp", a, a.dtype);
  if (recorded) {
    attach("ClampBackward1", clamped, {&a}, [saved](ShapeTensor& grad) {
      const ShapeTensor self = saved.unpack();
      const ShapeTensor zero = empty(*grad.run, {}, grad.dtype);
      const ShapeTensor below = more(grad, DType::kBool);
      const ShapeTensor above = more(grad, DType::kBool);
      return Tensors{more(grad, grad.dtype)};
    });
  }
  return clamped;
}

ShapeTensor maximum(const ShapeTensor& a, const ShapeTensor& b) {
  return larger_or_smaller("maximum", "MaximumBackward0", a, b);
}

ShapeTensor minimum(const ShapeTensor& a, const ShapeTensor& b) {
  return larger_or_smaller("minimum", "MinimumBackward0", a, b);
}

ShapeTensor softmax_last(const ShapeTensor& given) {
  const ShapeTensor a = contiguous(cast_to_fp32(given));
  return like("_softmax", a, a.dtype);
}

ShapeTensor logsumexp_last(const ShapeTensor& a) {
  a.run->memory.site.operation = "logsumexp";
  const ShapeTensor largest_C1 = amax_last(a);
  {
    const ShapeTensor magnitudes = more(largest_C1, a.dtype);
    const ShapeTensor infinite = more(largest_C1, DType::kBool);
  }
  const ShapeTensor shifted = more(a, a.dtype);  // then its exponential, in place
  return sum_last(shifted);
}

ShapeTensor cat(const std::vector<ShapeTensor>& parts, int64_t dim) {
  Run& run = *parts.front().run;
  run.memory.site.operation = "cat";
  Dims sizes = parts.front().sizes;
  sizes[dim] = 0;
  for (const ShapeTensor& part : parts) sizes[dim] += part.size(dim);
  return empty(run, sizes, parts.front().dtype);
}

}  // namespace headroom
