#include "bench/dryrun/values/card_memory.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "bench/dryrun/values/stand_in.h"

namespace headroom {
namespace {

using c10::DispatchKey;

constexpr int64_t kMostRuns = 4096;

struct Dim {
  int64_t stride;
  int64_t size;
};

// The dimensions with more than one element and a stride, the smallest stride first.
std::vector<Dim> moving_dims(const at::Tensor& tensor) {
  std::vector<Dim> dims;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    if (tensor.size(dim) > 1 && tensor.stride(dim) != 0) {
      dims.push_back({tensor.stride(dim), tensor.size(dim)});
    }
  }
  std::sort(dims.begin(), dims.end(), [](Dim a, Dim b) { return a.stride < b.stride; });
  return dims;
}

// Joins the dimensions from `first` on that follow each other without a gap. Returns their number
// of elements; `first` is then the next dimension.
int64_t joined(const std::vector<Dim>& dims, size_t& first, int64_t stride) {
  int64_t length = 1;
  while (first < dims.size() && dims[first].stride == stride * length) {
    length *= dims[first++].size;
  }
  return length;
}

void find_runs(const at::Tensor& tensor, Span& span) {
  const std::vector<Dim> dims = moving_dims(tensor);
  size_t at = 0;
  const int64_t run = joined(dims, at, 1);
  if (at == dims.size()) return;  // no gaps
  const int64_t step = dims[at].stride;
  const int64_t runs = joined(dims, at, step);
  if (at != dims.size() || step < run || runs > kMostRuns) return;
  const auto width = static_cast<uint64_t>(tensor.element_size());
  span.run = static_cast<uint64_t>(run) * width;
  span.step = static_cast<uint64_t>(step) * width;
}

// Calls use(offset, bytes) for every run until one returns false.
template <typename Use>
bool all_runs(const Span& span, Use use) {
  if (span.step == 0) return use(uint64_t{0}, span.end - span.begin);
  for (uint64_t offset = 0; offset < span.end - span.begin; offset += span.step) {
    if (!use(offset, span.run)) return false;
  }
  return true;
}

// Writes a tensor element by element that is not runs at equal distances.
void write_elements(const at::Tensor& on_card, const at::Tensor& on_host, const Span& span) {
  const at::Tensor flat = on_host.to(on_card.scalar_type()).contiguous().view({-1});
  const at::Tensor places = at::zeros(on_card.sizes(), at::kLong);
  for (int64_t dim = 0; dim < on_card.dim(); ++dim) {
    std::vector<int64_t> shape(static_cast<size_t>(on_card.dim()), 1);
    shape[static_cast<size_t>(dim)] = on_card.size(dim);
    places.add_(at::arange(on_card.size(dim), at::kLong).mul_(on_card.stride(dim)).view(shape));
  }
  const auto bytes = static_cast<uint64_t>(on_card.element_size());
  const auto* from = static_cast<const char*>(flat.const_data_ptr());
  const auto* place = places.const_data_ptr<int64_t>();
  for (int64_t i = 0; i < flat.numel(); ++i) {
    stand_in().write(span.begin + static_cast<uint64_t>(place[i]) * bytes, bytes,
                     from + static_cast<uint64_t>(i) * bytes);
  }
}

}  // namespace

c10::DispatchKeySet wrappers() {
  return c10::DispatchKeySet({DispatchKey::Python, DispatchKey::FuncTorchBatched,
                              DispatchKey::FuncTorchGradWrapper, DispatchKey::Functionalize,
                              DispatchKey::Conjugate, DispatchKey::Negative,
                              DispatchKey::ZeroTensor});
}

bool is_plain(const at::Tensor& tensor) {
  static const c10::DispatchKeySet kWrappers = wrappers();
  return tensor.layout() == at::kStrided && !tensor.key_set().has_any(kWrappers) &&
         tensor.has_storage() && !tensor.is_quantized() && !tensor.is_nested() &&
         !tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides();
}

uint64_t bytes_of(const at::Tensor& tensor) {
  return static_cast<uint64_t>(tensor.numel() * tensor.element_size());
}

bool is_small(const at::Tensor& tensor) { return bytes_of(tensor) <= kMostBytes; }

Span span_of(const at::Tensor& tensor) {
  if (tensor.numel() == 0) return {};
  int64_t last = 0;
  for (int64_t dim = 0; dim < tensor.dim(); ++dim) {
    last += (tensor.size(dim) - 1) * tensor.stride(dim);
  }
  const auto width = static_cast<uint64_t>(tensor.element_size());
  const auto offset = static_cast<uint64_t>(tensor.storage_offset()) * width;
  const uint64_t bytes = (static_cast<uint64_t>(last) + 1) * width;
  const auto base = reinterpret_cast<uint64_t>(tensor.storage().data());
  if (base == 0 || offset + bytes > tensor.storage().nbytes()) return {};
  Span span{.begin = base + offset, .end = base + offset + bytes};
  if (last + 1 > tensor.numel()) find_runs(tensor, span);
  return span;
}

at::Tensor empty_on_host(const at::Tensor& like, at::IntArrayRef sizes, at::IntArrayRef strides) {
  return at::empty_strided(sizes, strides, at::TensorOptions().dtype(like.scalar_type()));
}

bool is_span_known(const Span& span) {
  return span.end > span.begin && all_runs(span, [&](uint64_t offset, uint64_t bytes) {
           return stand_in().knows(span.begin + offset, bytes) != 0;
         });
}

bool is_known(const at::Tensor& tensor) { return is_span_known(span_of(tensor)); }

bool read(const Span& span, void* to) {
  return all_runs(span, [&](uint64_t offset, uint64_t bytes) {
    return stand_in().read(span.begin + offset, bytes, static_cast<char*>(to) + offset) != 0;
  });
}

void write(const at::Tensor& on_card, const at::Tensor& on_host) {
  const Span span = span_of(on_card);
  if (span.end == span.begin || on_card.sizes() != on_host.sizes()) return;
  const auto numbers = static_cast<uint64_t>(on_card.numel() * on_card.element_size());
  if (numbers != span.bytes()) return write_elements(on_card, on_host, span);
  const at::Tensor image = empty_on_host(on_card, on_card.sizes(), on_card.strides());
  image.copy_(on_host);
  const auto* from = static_cast<const char*>(image.const_data_ptr());
  all_runs(span, [&](uint64_t offset, uint64_t bytes) {
    stand_in().write(span.begin + offset, bytes, from + offset);
    return true;
  });
}

}  // namespace headroom
