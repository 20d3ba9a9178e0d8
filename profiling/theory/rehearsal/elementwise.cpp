#include <algorithm>

#include "profiling/theory/rehearsal/operations.h"
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
  a.run->memory.place.operation = name;
  return empty_like(a, dtype);
}

ShapeTensor result(const char* name, const ShapeTensor& a, const ShapeTensor& b, DType dtype) {
  a.run->memory.place.operation = name;
  const Dims sizes = broadcast(a.sizes, b.sizes);
  for (const ShapeTensor* each : {&a, &b}) {
    if (each->sizes == sizes && each->is_dense()) return empty_like(*each, dtype);
  }
  return empty(*a.run, sizes, dtype);
}

// In backward the operation on top is the node's: the engine has said it.
ShapeTensor unary(const ShapeTensor& a) { return empty_like(a, a.dtype); }
ShapeTensor binary(const ShapeTensor& a, const ShapeTensor& b) {
  return result(a.run->memory.place.operation, a, b, promoted(a, b));
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
  ShapeTensor product = result("mul", a, b, promoted(a, b));
  if (is_recorded({&a, &b})) {
    std::optional<Saved> saved_a;
    std::optional<Saved> saved_b;
    if (b.requires_grad()) saved_a.emplace(a);
    if (a.requires_grad()) saved_b.emplace(b);
    attach("MulBackward0", product, {&a, &b}, [saved_a, saved_b](ShapeTensor& grad) {
      ShapeTensor to_a;
      ShapeTensor to_b;
      if (saved_a) to_b = binary(grad, saved_a->unpack());
      if (saved_b) to_a = binary(grad, saved_b->unpack());
      return Tensors{to_a, to_b};
    });
  }
  return product;
}

ShapeTensor div(const ShapeTensor& a, const ShapeTensor& b) {
  ShapeTensor quotient = result("div", a, b, promoted(a, b));
  if (is_recorded({&a, &b})) {
    attach("DivBackward0", quotient, {&a, &b},
           [saved_a = Saved(a), saved_b = Saved(b)](ShapeTensor& grad) {
             const ShapeTensor self = saved_a.unpack();
             const ShapeTensor other = saved_b.unpack();
             ShapeTensor to_b;
             {  // -grad * ((self / other) / other)
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

// Of an operation whose derivative is one new tensor of the gradient alone.
ShapeTensor scaling(const char* name, const char* node, const ShapeTensor& a) {
  ShapeTensor scaled = result(name, a, a.dtype);
  if (is_recorded({&a})) {
    attach(node, scaled, {&a}, [](ShapeTensor& grad) { return Tensors{unary(grad)}; });
  }
  return scaled;
}

// Of an operation whose derivative is one new tensor of the gradient and its result, or its input.
ShapeTensor keeping(const char* name, const char* node, const ShapeTensor& a, bool its_result) {
  ShapeTensor made = result(name, a, a.dtype);
  if (is_recorded({&a})) {
    attach(node, made, {&a}, [kept = Saved(its_result ? made : a)](ShapeTensor& grad) {
      return Tensors{binary(grad, kept.unpack())};
    });
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
  ShapeTensor power = result("pow", a, a.dtype);
  if (is_recorded({&a})) {
    attach("PowBackward0", power, {&a}, [saved = Saved(a)](ShapeTensor& grad) {
      const ShapeTensor less = unary(saved.unpack());
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
    attach("RsqrtBackward0", root, {&a}, [saved = Saved(root)](ShapeTensor& grad) {
      const ShapeTensor cubed = unary(saved.unpack());
      const ShapeTensor scaled = unary(grad);
      return Tensors{binary(scaled, cubed)};
    });
  }
  return root;
}

ShapeTensor greater_equal(const ShapeTensor& a, const ShapeTensor& b) {
  return result("ge", a, b, DType::kBool);
}

ShapeTensor where(const ShapeTensor& mask, const ShapeTensor& a) {
  const ShapeTensor number = empty(*a.run, {}, a.dtype);
  ShapeTensor chosen = result("where", a, a.dtype);
  if (is_recorded({&a})) {
    attach("WhereBackward0", chosen, {&a}, [saved = Saved(mask)](ShapeTensor& grad) {
      const ShapeTensor zero = empty(*grad.run, {}, grad.dtype);
      return Tensors{unary(grad)};
    });
  }
  return chosen;
}

ShapeTensor to(const ShapeTensor& a, DType dtype) {
  if (a.dtype == dtype) return a;
  ShapeTensor copy = a.run->in_backward ? empty_like(a, dtype) : result("_to_copy", a, dtype);
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
  ShapeTensor& copy = run.cast_cache[a.storage.get()];
  if (!copy.defined()) {
    copy = to(a, dtype);
    copy.storage->belongs_to(kCastCache);
  }
  return copy;
}

ShapeTensor cast_to_fp32(const ShapeTensor& a) { return a.run->autocast ? to(a, DType::kFp32) : a; }

}  // namespace headroom
