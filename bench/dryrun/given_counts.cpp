#include "bench/dryrun/given_counts.h"

#include <c10/util/intrusive_ptr.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <tuple>
#include <utility>
#include <vector>

#include "bench/dryrun/operation.h"
#include "bench/dryrun/stand_in.h"

namespace headroom {
namespace {

struct Given {
  c10::weak_intrusive_ptr<c10::StorageImpl> storage;
  uint32_t version;
  int count;
};

using Place = std::tuple<const c10::StorageImpl*, uint64_t, uint64_t>;

std::mutex given_mutex;
std::map<Place, Given> given_counts;

Place place_of(const at::Tensor& mask) {
  const Span span = span_of(mask);
  return {mask.storage().unsafeGetStorageImpl(), span.begin, span.end};
}

// A tensor of inference mode has none.
uint32_t version_of(const at::Tensor& mask) {
  return mask.is_inference() ? 0 : static_cast<uint32_t>(mask._version());
}

void forget_dead() {
  for (auto it = given_counts.begin(); it != given_counts.end();) {
    it = it->second.storage.expired() ? given_counts.erase(it) : std::next(it);
  }
}

// The indices of the first `count` elements of a tensor, row by row.
at::Tensor indices_of_first(int64_t count, at::IntArrayRef sizes) {
  at::Tensor rest = at::arange(count, at::kLong);
  std::vector<at::Tensor> columns;
  for (size_t dim = sizes.size(); dim-- > 0;) {
    columns.push_back(rest.remainder(sizes[dim]));
    rest = rest.div(sizes[dim], "floor");
  }
  std::reverse(columns.begin(), columns.end());
  return at::stack(columns, 1);
}

}  // namespace

void answer_given_count(const at::Tensor& mask) {
  const std::lock_guard lock(given_mutex);
  const auto found = given_counts.find(place_of(mask));
  if (found == given_counts.end() || found->second.storage.expired()) return;
  if (found->second.version != version_of(mask)) return;
  stand_in().answer_next(&found->second.count, sizeof found->second.count);
}

void keep_given_count(const at::Tensor& mask, const at::Tensor& indices) {
  if (!is_plain(mask) || !is_plain(indices) || indices.dim() != 2) return;
  const int64_t count = indices.size(0);
  if (count == 0 || count > mask.numel() || mask.dim() == 0) return;
  if (is_small(indices)) write(indices, indices_of_first(count, mask.sizes()));
  if (is_small(mask) && mask.is_non_overlapping_and_dense()) {
    const at::Tensor first = at::arange(mask.numel(), at::kLong).lt(count).view(mask.sizes());
    write(mask, first.to(mask.scalar_type()));
    return;
  }
  const std::lock_guard lock(given_mutex);
  forget_dead();
  given_counts.insert_or_assign(place_of(mask), Given{mask.storage().getWeakStorageImpl(),
                                                      version_of(mask), static_cast<int>(count)});
}

}  // namespace headroom
