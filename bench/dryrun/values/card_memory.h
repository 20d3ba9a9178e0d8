// A tensor's memory on the card: where its elements lie, and what is known of them.
//
// Note [Tensors with gaps]
// Rationale: programs fill a part of a tensor (labels[:, :prompt] = -100, tokens[:, step] = next).
//   The rest of the tensor keeps its values. The part is known even where the rest is not.
// Approach: a tensor that is runs of equal length at equal distances is read, written and forgotten
//   run by run.
// Limits: other forms, and more than 4,096 runs, are taken with all that lies in their gaps.
#pragma once

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <cstdint>

namespace headroom {

constexpr uint64_t kMostBytes = 1 << 20;           // of all tensors of an operation
constexpr uint64_t kMostExtent = 16 * kMostBytes;  // of one, its gaps among it: a copy has them too

// From a tensor's first to behind its last element.
struct Span {
  uint64_t begin = 0;
  uint64_t end = 0;
  uint64_t run = 0;   // bytes that lie side by side
  uint64_t step = 0;  // from run to run; 0: there is one

  uint64_t bytes() const {
    return step == 0 ? end - begin : ((end - begin - run) / step + 1) * run;
  }
};

// Subclasses, wrappers of transformations, and what is computed when it is read.
c10::DispatchKeySet wrappers();

// An ordinary tensor: none of these, strided.
bool is_plain(const at::Tensor& tensor);
bool is_small(const at::Tensor& tensor);
// Empty where the tensor's storage does not hold its elements.
Span span_of(const at::Tensor& tensor);

at::Tensor empty_on_host(const at::Tensor& like, at::IntArrayRef sizes, at::IntArrayRef strides);

bool is_span_known(const Span& span);
bool is_known(const at::Tensor& tensor);
// Into memory of the form of the span; false where something is unknown.
bool read(const Span& span, void* to);
// Puts a tensor's values on the card: what it holds from then on.
void write(const at::Tensor& on_card, const at::Tensor& on_host);

}  // namespace headroom
