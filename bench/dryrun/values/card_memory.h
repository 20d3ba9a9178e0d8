// A tensor's memory on the card: the places of its elements, and their known values.
//
// Note [Tensors with gaps]
// Rationale: programs fill a part of a tensor (labels[:, :prompt] = -100, tokens[:, step] = next).
//   The rest of the tensor keeps its values. The part is known even where the rest is not.
// Approach: a tensor of equal runs at equal distances is read, written and forgotten run by run.
// Limits: other layouts, and more than 4,096 runs, are handled together with their gaps.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

namespace headroom {

constexpr uint64_t kMostBytes = 1 << 20;           // of all tensors of an operation
constexpr uint64_t kMostRouted = 64 * kMostBytes;  // the same, for Note [Routing]
constexpr uint64_t kMostExtent = 16 * kMostBytes;  // of one, with its gaps, which a copy has too

// From a tensor's first element to the end of its last.
struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t run = 0;   // contiguous bytes
  uint64_t step = 0;  // distance of runs; 0: there is only one

  uint64_t bytes() const {
    return step == 0 ? end - begin : ((end - begin - run) / step + 1) * run;
  }
};

// Keys of subclasses, wrappers of transformations, and lazily computed tensors.
c10::DispatchKeySet wrappers();

// True for an ordinary tensor: strided, without these keys.
bool is_plain(const at::Tensor& tensor);
uint64_t bytes_of(const at::Tensor& tensor);  // without gaps
bool is_small(const at::Tensor& tensor);
// Empty if the tensor's storage does not hold its elements.
Span span_of(const at::Tensor& tensor);

at::Tensor empty_on_host(const at::Tensor& like, at::IntArrayRef sizes, at::IntArrayRef strides);

bool is_span_known(const Span& span);
bool is_known(const at::Tensor& tensor);
// Reads into memory with the span's layout; false if something is unknown.
bool read(const Span& span, void* to);
// Sets a tensor's known values on the card.
void write(const at::Tensor& on_card, const at::Tensor& on_host);

}  // namespace headroom
