#include <algorithm>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

DType promoted(const ShapeTensor& a, const ShapeTensor& b) {
  if (a.dim() == 0 && b.dim() > 0) return b.dtype;
  if (b.dim() == 0 && a.dim() > 0) return a.dtype;
  return element_size(a.dtype) >= element_size(b.dtype) ? a.dtype : b.dtype;
}

Dims broadcast(const Dims& a, const Dims& b) {
  Dims sizes = a.size() >= b.size() ? a : b;
  const Dims& shorter = a.size() >= b.size() ? b : a;
  const int64_t ahead = sizes.size() - shorter.size();
  for (int64_t i = 0; i < shorter.size(); ++i) {
    sizes[ahead + i] = std::max(sizes[ahead + i], shorter[i]);
  }
  return sizes;
}

// TensorIterator's output: laid out as its operands are.
ShapeTensor result(const char* name, const ShapeTensor& a, DType dtype) {
  a.run->memory.site.operation = name;
  return empty_like(a, dtype);
}

ShapeTensor result(const char* name, const ShapeTensor& a, const ShapeTensor& b, DType dtype) {
  a.run->memory.site.operation = name;
  const Dims sizes = broadcast(a.sizes, b.sizes);
  for (const ShapeTensor* each : {&a, &b}) {
    if (each->sizes == sizes && each->is_dense()) return empty_like(*each, dtype);
  }
  return empty(*a.run, sizes, dtype);
}

// In backward the operation on top is the node's: the engine has said it.
ShapeTensor unary(const ShapeTensor& a) { return empty_like(a, a.dtype); }
ShapeTensor binary(const ShapeTensor& a, const ShapeTensor& b) {
  return result(a.run->memory.site.operation, a, b, promoted(a, b));
}

}  // namespace

ShapeTensor add(const ShapeTensor& a, const ShapeTensor& b) {
  ShapeTensor sum = result("add", a, b, promoted(a, b));
  if (is_recorded({&a, &b})) {
    attach("AddBackward0", sum, {&a, &b}, [](ShapeTensor& grad) { return Tensors{grad, grad}; });
  }
  return sum;
}

ShapeTensor sub(const ShapeTensor& a, const ShapeTensor& b) {
  ShapeTensor difference = result("sub", a, b, promoted(a, b));
  if (is_recorded({&a, &b})) {
    const bool for_b = b.requires_grad();
    attach("SubBackward0", difference, {&a, &b}, [for_b](ShapeTensor& grad) {
      return Tensors{grad, for_b ? unary(grad) : ShapeTensor{}};
    });
  }
  return difference;
}

ShapeTensor mul(const ShapeTensor& a, const ShapeTensor& b) {
  const bool recorded = is_recorded({&a, &b});
  const Saved saved_b = save_if(recorded && a.requires_grad(), b);
  const Saved saved_a = save_if(recorded && b.requires_grad(), a);
  ShapeTensor product = result("mul", a, b, promoted(a, b));
  if (recorded) {
    attach("MulBackward0", product, {&a, &b}, [saved_a, saved_b](ShapeTensor& grad) {
      const ShapeTensor other = saved_b.unpack();
      const ShapeTensor self = saved_a.unpack();
      ShapeTensor to_a;
      ShapeTensor to_b;
      if (self.defined()) to_b = binary(grad, self);
      if (other.defined()) to_a = binary(grad, other);
      return Tensors{to_a, to_b};
    });
  }
  return product;
}

ShapeTensor div(const ShapeTensor& a, const ShapeTensor& b) {
  const bool recorded = is_recorded({&a, &b});
  const Saved saved_b = save_if(recorded, b);
  const Saved saved_a = save_if(recorded && b.requires_grad(), a);
  ShapeTensor quotient = result("div", a, b, promoted(a, b));
  if (recorded) {
    attach("DivBackward0", quotient, {&a, &b}, [saved_a, saved_b](ShapeTensor& grad) {
      const ShapeTensor other = saved_b.unpack();
      const ShapeTensor self = saved_a.unpack();
      ShapeTensor to_b;
      if (self.defined()) {  // -grad * ((self / other) / other)
        const ShapeTensor once = binary(self, other);
        const ShapeTensor twice = binary(once, other);
        const ShapeTensor negative = unary(grad);
        to_b = binary(negative, twice);
      }
      ShapeTensor to_a = binary(grad, other);
      return Tensors{to_a, to_b};
    });
  }
  return quotient;
}

ShapeTensor add_scalar(const ShapeTensor& a) {
  ShapeTensor sum = result("add", a, a.dtype);
  if (is_recorded({&a})) {
    attach("AddBackward0", sum, {&a}, [](ShapeTensor& grad) { return Tensors{grad}; });
  }
  return sum;
}

namespace {

// An operation whose derivative is one new tensor, made of the gradient alone.
ShapeTensor scaling(const char* name, const char* node, const ShapeTensor& a) {
  ShapeTensor scaled = result(name, a, a.dtype);
  if (is_recorded({&a})) {
    attach(node, scaled, {&a}, [](ShapeTensor& grad) { return Tensors{unary(grad)}; });
  }
  return scaled;
}

// An operation whose derivative is one new tensor, of the gradient and its result or input.
ShapeTensor keeping(const char* name, const char* node, const ShapeTensor& a, bool its_result) {
  const bool recorded = is_recorded({&a});
  Saved saved = save_if(recorded && !its_result, a);
  ShapeTensor made = result(name, a, a.dtype);
  if (recorded) {
    Node& to_input = attach(node, made, {&a});
    if (its_result) saved = Saved(made);
    to_input.apply = [saved](ShapeTensor& grad) {
      const ShapeTensor kept = saved.unpack();
      return Tensors{binary(grad, kept)};
    };
  }
  return made;
}

}  // namespace

ShapeTensor mul_scalar(const ShapeTensor& a) { return scaling("mul", "MulBackward1", a); }
ShapeTensor div_scalar(const ShapeTensor& a) { return scaling("div", "DivBackward1", a); }
ShapeTensor neg(const ShapeTensor& a) { return scaling("neg", "NegBackward0", a); }
ShapeTensor sqrt(const ShapeTensor& a) { return result("sqrt", a, a.dtype); }

ShapeTensor exp(const ShapeTensor& a) {
  return keeping("exp", "ExpBackward0", cast_to_fp32(a), /*its_result=*/true);
}
ShapeTensor log(const ShapeTensor& a) {
  return keeping("log", "LogBackward0", cast_to_fp32(a), /*its_result=*/false);
}
ShapeTensor sigmoid(const ShapeTensor& a) {
  return keeping("sigmoid", "SigmoidBackward0", a, /*its_result=*/true);
}

// grad * (exponent * self ^ (exponent - 1))
ShapeTensor pow(const ShapeTensor& base) {
  const ShapeTensor a = cast_to_fp32(base);
  const bool recorded = is_recorded({&a});
  const Saved saved = save_if(recorded, a);
  ShapeTensor power = result("pow", a, a.dtype);
  if (recorded) {
    attach("PowBackward0", power, {&a}, [saved](ShapeTensor& grad) {
      const ShapeTensor self = saved.unpack();
      const ShapeTensor less = unary(self);
      const ShapeTensor scaled = unary(less);
      return Tensors{binary(grad, scaled)};
    });
  }
  return power;
}

// -0.5 * grad * result ^ 3
ShapeTensor rsqrt(const ShapeTensor& base) {
  const ShapeTensor a = cast_to_fp32(base);
  ShapeTensor root = result("rsqrt", a, a.dtype);
  if (is_recorded({&a})) {
    Node& node = attach("RsqrtBackward0", root, {&a});
    node.apply = [saved = Saved(root)](ShapeTensor& grad) {
      const ShapeTensor kept = saved.unpack();
      const ShapeTensor cubed = unary(kept);
      const ShapeTensor scaled = unary(grad);
      return Tensors{binary(scaled, cubed)};
    };
  }
  return root;
}

ShapeTensor greater_equal(const ShapeTensor& a, const ShapeTensor& b) {
  return result("ge", a, b, DType::kBool);
}

ShapeTensor where(const ShapeTensor& mask, const ShapeTensor& a) {
  const ShapeTensor number = empty(*a.run, {}, a.dtype);
  const bool recorded = is_recorded({&a});
  const Saved saved = save_if(recorded, mask);
  ShapeTensor chosen = result("where", a, a.dtype);
  if (recorded) {
    attach("WhereBackward0", chosen, {&a}, [saved](ShapeTensor& grad) {
      const ShapeTensor condition = saved.unpack();
      const ShapeTensor zero = empty(*grad.run, {}, grad.dtype);
      return Tensors{unary(grad)};
    });
  }
  return chosen;
}

ShapeTensor to(const ShapeTensor& a, DType dtype) {
  if (a.dtype == dtype) return a;
  ShapeTensor copy = a.run->is_in_node() ? empty_like(a, dtype) : result("_to_copy", a, dtype);
  if (is_recorded({&a})) {
    attach("ToCopyBackward0", copy, {&a},
           [was = a.dtype](ShapeTensor& grad) { return Tensors{to(grad, was)}; });
  }
  return copy;
}

ShapeTensor cast(const ShapeTensor& a, DType dtype) {
  Run& run = *a.run;
  if (a.dtype == dtype) return a;
  const bool cached = a.is_parameter && a.requires_grad() && a.dtype == DType::kFp32;
  if (!cached) return to(a, dtype);
  ShapeTensor& copy = run.cast_cache[a.made_by.get()];
  if (!copy.defined()) {
    copy = to(a, dtype);
    copy.storage->belongs_to(kCastCache);
  }
  return copy;
}

ShapeTensor cast_to_fp32(const ShapeTensor& a) { return a.run->autocast ? to(a, DType::kFp32) : a; }

}  // namespace headroom
