// A tensor of which everything is known but its values. No torch here.
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <initializer_list>
#include <memory>

#include "profiling/theory/rehearsal/allocator/memory.h"
#include "profiling/theory/rows.h"

namespace headroom {

// Sizes or strides of at most six dimensions.
class Dims {
 public:
  Dims() = default;
  Dims(std::initializer_list<int64_t> values) {
    for (const int64_t value : values) push_back(value);
  }

  int64_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  int64_t& operator[](int64_t i) { return values_[static_cast<size_t>(i)]; }
  int64_t operator[](int64_t i) const { return values_[static_cast<size_t>(i)]; }
  int64_t back() const { return (*this)[count_ - 1]; }
  void push_back(int64_t value) {
    assert(count_ < kMost);
    (*this)[count_++] = value;
  }
  void insert(int64_t at, int64_t value);
  void erase(int64_t at);
  int64_t product() const;
  const int64_t* begin() const { return values_.data(); }
  const int64_t* end() const { return values_.data() + count_; }
  bool operator==(const Dims&) const = default;

 private:
  static constexpr int64_t kMost = 6;
  std::array<int64_t, kMost> values_{};
  int64_t count_ = 0;
};

Dims contiguous_strides(const Dims& sizes);

// The dimension as counted from the front.
inline int64_t wrap(int64_t dim, int64_t dims) { return dim < 0 ? dim + dims : dim; }

struct Node;
class Run;

struct ShapeTensor {
  Run* run = nullptr;
  Dims sizes;
  Dims strides;
  DType dtype = DType::kFp32;
  std::shared_ptr<Storage> storage;
  std::shared_ptr<Node> made_by;  // of the graph; a parameter's is what accumulates its gradient
  bool is_view = false;           // libtorch keeps the base of a view alive beside it
  bool is_parameter = false;

  bool defined() const { return storage != nullptr; }
  bool requires_grad() const { return made_by != nullptr; }
  int64_t dim() const { return sizes.size(); }
  int64_t size(int64_t dim) const { return sizes[wrap(dim, sizes.size())]; }
  int64_t elements() const { return sizes.product(); }
  bool is_contiguous() const;
  bool is_dense() const;  // every element of the storage's part once, in some order of dimensions
  ShapeTensor detach() const;
};

// A contiguous tensor of these sizes, as the allocator gives it.
ShapeTensor empty(Run& run, const Dims& sizes, DType dtype);

// (count) of int64: tokens, positions, lengths, indices.
inline ShapeTensor integers(Run& run, int64_t count) { return empty(run, {count}, DType::kInt64); }

// With the strides of a dense tensor, else with its dimensions in the same order: as empty_like().
ShapeTensor empty_like(const ShapeTensor& tensor, DType dtype);

}  // namespace headroom
