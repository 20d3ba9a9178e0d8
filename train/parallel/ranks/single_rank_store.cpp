#include "train/parallel/ranks/single_rank_store.h"

#include <algorithm>
#include <functional>
#include <random>

namespace headroom {
namespace {

// Stands in for the identity that the absent rank 0 of a communicator would have drawn.
SingleRankStore::Bytes identity(const std::string& key) {
  constexpr size_t kNcclIdentity = 128;  // bytes; NCCL_UNIQUE_ID_BYTES
  std::mt19937_64 random(std::hash<std::string>()(key));
  SingleRankStore::Bytes bytes(kNcclIdentity);
  std::generate(bytes.begin(), bytes.end(), [&] { return static_cast<uint8_t>(random()); });
  return bytes;
}

}  // namespace

c10::intrusive_ptr<c10d::Store> SingleRankStore::clone() {
  return c10::intrusive_ptr<SingleRankStore>::reclaim_copy(this);
}

void SingleRankStore::set(const std::string& key, const Bytes& value) {
  const std::lock_guard lock(mutex_);
  known_[key] = value;
}

SingleRankStore::Bytes SingleRankStore::get(const std::string& key) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(key);
  return found == known_.end() ? identity(key) : found->second;
}

int64_t SingleRankStore::add(const std::string& key, int64_t value) {
  const std::lock_guard lock(mutex_);
  Bytes& bytes = known_[key];
  const int64_t sum =
      (bytes.empty() ? 0 : std::stoll(std::string(bytes.begin(), bytes.end()))) + value;
  const std::string text = std::to_string(sum);
  bytes.assign(text.begin(), text.end());
  return sum;
}

bool SingleRankStore::deleteKey(const std::string& key) {
  const std::lock_guard lock(mutex_);
  return known_.erase(key) > 0;
}

bool SingleRankStore::check(const std::vector<std::string>& keys) {
  const std::lock_guard lock(mutex_);
  return std::all_of(keys.begin(), keys.end(),
                     [this](const std::string& key) { return known_.contains(key); });
}

int64_t SingleRankStore::getNumKeys() {
  const std::lock_guard lock(mutex_);
  return static_cast<int64_t>(known_.size());
}

}  // namespace headroom
