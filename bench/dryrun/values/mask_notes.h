// Notes about masks that are too large to be written to the card. A note is valid until the mask's
// memory is freed or written to.
#pragma once

#include <ATen/ATen.h>
#include <c10/util/intrusive_ptr.h>

#include <cstdint>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <tuple>
#include <utility>

#include "bench/dryrun/values/card_memory.h"

namespace headroom {

template <typename Value>
class MaskNotes {
 public:
  void note(const at::Tensor& mask, Value value) {
    const std::lock_guard lock(mutex_);
    forget_dead();
    notes_.insert_or_assign(place_of(mask),
                            Note{mask.storage().getWeakStorageImpl(), version_of(mask), value});
  }

  std::optional<Value> find(const at::Tensor& mask) {
    const std::lock_guard lock(mutex_);
    const auto found = notes_.find(place_of(mask));
    if (found == notes_.end() || found->second.storage.expired()) return std::nullopt;
    if (found->second.version != version_of(mask)) return std::nullopt;
    return found->second.value;
  }

 private:
  struct Note {
    c10::weak_intrusive_ptr<c10::StorageImpl> storage;
    uint32_t version;
    Value value;
  };
  using Place = std::tuple<const c10::StorageImpl*, uint64_t, uint64_t>;

  static Place place_of(const at::Tensor& mask) {
    const Span span = span_of(mask);
    return {mask.storage().unsafeGetStorageImpl(), span.begin, span.end};
  }

  // A tensor of inference mode has none.
  static uint32_t version_of(const at::Tensor& mask) {
    return mask.is_inference() ? 0 : static_cast<uint32_t>(mask._version());
  }

  void forget_dead() {
    for (auto it = notes_.begin(); it != notes_.end();) {
      it = it->second.storage.expired() ? notes_.erase(it) : std::next(it);
    }
  }

  std::mutex mutex_;
  std::map<Place, Note> notes_;
};

}  // namespace headroom
