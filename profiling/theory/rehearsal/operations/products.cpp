// Matrix products, and einsum as ATen's Linear.cpp makes it of them.
#include <string_view>

#include "profiling/theory/rehearsal/operations/operations.h"
#include "profiling/theory/rehearsal/run.h"

namespace headroom {
namespace {

// True if cuBLAS takes the matrices without a copy: one of the two dimensions has no gaps.
bool fits_cublas(const ShapeTensor& a) {
  const int64_t rows = a.size(1);
  const int64_t columns = a.size(2);
  const int64_t row = a.strides[1];
  const int64_t column = a.strides[2];
  const auto runs = [](int64_t fast, int64_t lead, int64_t length) {
    return fast == 1 && lead >= std::max<int64_t>(1, length);
  };
  return runs(row, column, rows) || runs(column, row, columns);
}

ShapeTensor product(const ShapeTensor& a, const ShapeTensor& b) {
  ShapeTensor c = empty(*a.run, {a.size(0), a.size(1), b.size(2)}, a.dtype);
  const ShapeTensor straight_a = fits_cublas(a) ? a : empty(*a.run, a.sizes, a.dtype);
  const ShapeTensor straight_b = fits_cublas(b) ? b : empty(*b.run, b.sizes, b.dtype);
  a.run->use_workspace();
  return c;
}

// The place of each letter's dimension; -1 if the operand does not have it.
ShapeTensor by_letters(ShapeTensor a, std::string_view letters, std::string_view all) {
  Dims order;
  int64_t dims = a.dim();
  for (const char letter : all) {
    const size_t at = letters.find(letter);
    if (at != std::string_view::npos) {
      order.push_back(static_cast<int64_t>(at));
    } else {
      a = unsqueeze(a, dims);
      order.push_back(dims++);
    }
  }
  return permute(a, order);
}

// The dimensions of a product: in both and kept, in the left one, summed, in the right one.
struct SummedDims {
  std::vector<int64_t> both, left, summed, right;
};

SummedDims split(const ShapeTensor& a, const ShapeTensor& b, int64_t summed_from) {
  SummedDims dims;
  for (int64_t i = 0; i < a.dim(); ++i) {
    const bool in_a = a.sizes[i] != 1;
    const bool in_b = b.sizes[i] != 1;
    if (i >= summed_from) {
      dims.summed.push_back(i);
    } else if (in_a && in_b) {
      dims.both.push_back(i);
    } else if (in_a) {
      dims.left.push_back(i);
    } else {
      dims.right.push_back(i);
    }
  }
  return dims;
}

Dims joined(std::initializer_list<const std::vector<int64_t>*> parts) {
  Dims all;
  for (const auto* part : parts) {
    for (const int64_t dim : *part) all.push_back(dim);
  }
  return all;
}

int64_t size_of(const ShapeTensor& a, const std::vector<int64_t>& dims) {
  int64_t size = 1;
  for (const int64_t dim : dims) size *= a.sizes[dim];
  return size;
}

// at::native::sumproduct_pair()
ShapeTensor sumproduct_pair(const ShapeTensor& a, const ShapeTensor& b, int64_t summed_from) {
  const SummedDims dims = split(a, b, summed_from);
  const int64_t both = size_of(a, dims.both);
  const int64_t summed = size_of(a, dims.summed);
  const ShapeTensor left =
      reshape(permute(a, joined({&dims.both, &dims.left, &dims.summed, &dims.right})),
              {both, size_of(a, dims.left), summed});
  const ShapeTensor right =
      reshape(permute(b, joined({&dims.both, &dims.summed, &dims.right, &dims.left})),
              {both, summed, size_of(b, dims.right)});
  const ShapeTensor product = bmm(left, right);
  Dims sizes;
  for (const int64_t dim : dims.both) sizes.push_back(a.sizes[dim]);
  for (const int64_t dim : dims.left) sizes.push_back(a.sizes[dim]);
  for (size_t i = 0; i < dims.summed.size(); ++i) sizes.push_back(1);
  for (const int64_t dim : dims.right) sizes.push_back(b.sizes[dim]);
  const Dims order = joined({&dims.both, &dims.left, &dims.summed, &dims.right});
  Dims inverse = order;
  for (int64_t i = 0; i < order.size(); ++i) inverse[order[i]] = i;
  return permute(view(product, sizes), inverse);
}

}  // namespace

ShapeTensor bmm(const ShapeTensor& a, const ShapeTensor& b) {
  const bool recorded = is_recorded({&a, &b});
  const Saved saved_b = save_if(recorded && a.requires_grad(), b);
  const Saved saved_a = save_if(recorded && b.requires_grad(), a);
  a.run->memory.site.operation = "bmm";
  ShapeTensor c = product(a, b);
  if (recorded) {
    attach("BmmBackward0", c, {&a, &b}, [saved_a, saved_b](ShapeTensor& grad) {
      const ShapeTensor mat2 = saved_b.unpack();
      const ShapeTensor self = saved_a.unpack();
      ShapeTensor to_a;
      ShapeTensor to_b;
      if (self.defined()) to_b = product(transpose(self, 1, 2), grad);
      if (mat2.defined()) to_a = product(grad, transpose(mat2, 1, 2));
      return Tensors{to_a, to_b};
    });
  }
  return c;
}

ShapeTensor einsum(const char* equation, const ShapeTensor& a, const ShapeTensor& b) {
  const Run& run = *a.run;
  const ShapeTensor left = run.autocast ? cast(a, *run.autocast) : a;
  const ShapeTensor right = run.autocast ? cast(b, *run.autocast) : b;
  std::string text = equation;
  // Dots stand for as many dimensions as the left operand has beyond its letters.
  std::string dots = "ABCDEF";
  if (const size_t at = text.find("..."); at != std::string::npos) {
    const size_t letters = text.find(',') - 3;
    dots.resize(static_cast<size_t>(a.dim()) - letters);
    for (size_t from = 0; (from = text.find("...", from)) != std::string::npos;) {
      text.replace(from, 3, dots);
    }
  }
  const size_t comma = text.find(',');
  const size_t arrow = text.find("->");
  const std::string first = text.substr(0, comma);
  const std::string second = text.substr(comma + 1, arrow - comma - 1);
  const std::string kept = text.substr(arrow + 2);
  std::string all = kept;
  for (const char letter : first) {
    if (all.find(letter) == std::string::npos) all += letter;
  }
  const auto summed_from = static_cast<int64_t>(kept.size());
  // Backward goes through the views of the right operand first, as they are made last.
  const ShapeTensor left_all = by_letters(left, first, all);
  const ShapeTensor right_all = by_letters(right, second, all);
  const ShapeTensor c = sumproduct_pair(left_all, right_all, summed_from);
  Dims sizes = c.sizes;
  while (sizes.size() > summed_from) sizes.erase(sizes.size() - 1);
  return view(c, sizes);
}

}  // namespace headroom
