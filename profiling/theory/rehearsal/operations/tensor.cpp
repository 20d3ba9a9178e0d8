#include "profiling/theory/rehearsal/operations/tensor.h"

#include <algorithm>
#include <utility>

#include "profiling/theory/rehearsal/run.h"
#include "text/quantity.h"

namespace headroom {

void Dims::insert(int64_t at, int64_t value) {
  push_back(0);
  for (int64_t i = count_ - 1; i > at; --i) (*this)[i] = (*this)[i - 1];
  (*this)[at] = value;
}

void Dims::erase(int64_t at) {
  for (int64_t i = at; i + 1 < count_; ++i) (*this)[i] = (*this)[i + 1];
  (*this)[--count_] = 0;
}

int64_t Dims::product() const {
  int64_t product = 1;
  for (const int64_t value : *this) product *= value;
  return product;
}

Dims contiguous_strides(const Dims& sizes) {
  Dims strides = sizes;
  int64_t stride = 1;
  for (int64_t i = sizes.size() - 1; i >= 0; --i) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

bool ShapeTensor::is_contiguous() const {
  const Dims wanted = contiguous_strides(sizes);
  for (int64_t i = 0; i < dim(); ++i) {
    if (sizes[i] != 1 && strides[i] != wanted[i]) return false;
  }
  return true;
}

bool ShapeTensor::is_dense() const {
  // Dimensions in the order of their strides, each as long as all before it reach.
  int64_t covered = 1;
  for (const int64_t all = elements(); covered < all;) {
    int64_t next = -1;
    for (int64_t i = 0; i < dim(); ++i) {
      if (sizes[i] != 1 && strides[i] == covered) next = i;
    }
    if (next < 0) return false;
    covered *= sizes[next];
  }
  return true;
}

ShapeTensor ShapeTensor::detach() const {
  ShapeTensor copy = *this;
  copy.made_by = nullptr;
  copy.is_parameter = false;
  return copy;
}

namespace {

// The first of two dimensions lies outside of the second: 1, inside: -1, undecided: 0.
int outside(const ShapeTensor& tensor, int64_t one, int64_t other) {
  const int64_t stride = tensor.strides[one];
  const int64_t other_stride = tensor.strides[other];
  if (stride == 0 || other_stride == 0) return 0;
  if (stride != other_stride) return stride > other_stride ? 1 : -1;
  return tensor.sizes[one] > tensor.sizes[other] ? 1 : 0;
}

// at::infer_dense_strides(): without gaps, the dimensions in the order in which they lie.
Dims dense_strides(const ShapeTensor& tensor) {
  Dims order = tensor.sizes;  // the innermost first
  for (int64_t i = 0; i < tensor.dim(); ++i) order[i] = tensor.dim() - 1 - i;
  for (int64_t i = 1; i < tensor.dim(); ++i) {
    int64_t at = i;
    for (int64_t j = i - 1; j >= 0; --j) {
      const int where = outside(tensor, order[j], order[at]);
      if (where < 0) break;
      if (where == 0) continue;
      std::swap(order[j], order[at]);
      at = j;
    }
  }
  Dims strides = tensor.sizes;
  int64_t stride = 1;
  for (const int64_t dim : order) {
    strides[dim] = stride;
    stride *= std::max<int64_t>(tensor.sizes[dim], 1);
  }
  return strides;
}

// check_computable() refuses what could get here; a sum that is wrong must not look like one.
int64_t bytes_of(const Dims& sizes, DType dtype) {
  int64_t bytes = element_size(dtype);
  for (const int64_t size : sizes) {
    if (__builtin_mul_overflow(bytes, size, &bytes) || bytes > INT64_MAX / 2) {
      throw UsageError(
          "theory: these settings make a tensor beyond 2^62 bytes "
          "(example: --batch-size 4 --context-length 512)");
    }
  }
  return bytes;
}

}  // namespace

ShapeTensor empty(Run& run, const Dims& sizes, DType dtype) {
  ShapeTensor tensor;
  tensor.run = &run;
  tensor.sizes = sizes;
  tensor.strides = contiguous_strides(sizes);
  tensor.dtype = dtype;
  tensor.storage = run.allocate(bytes_of(sizes, dtype));
  return tensor;
}

ShapeTensor empty_like(const ShapeTensor& tensor, DType dtype) {
  ShapeTensor made = empty(*tensor.run, tensor.sizes, dtype);
  made.strides = tensor.is_dense() ? tensor.strides : dense_strides(tensor);
  return made;
}

}  // namespace headroom
