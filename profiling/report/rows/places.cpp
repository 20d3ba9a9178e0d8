#include "profiling/report/rows/places.h"

#include <algorithm>

namespace headroom {

size_t PlacesOfConfigurations::first_like(Hash settings, Hash conditions) const {
  const auto found = like_.lower_bound({settings, conditions, 0});
  const bool is_like =
      found != like_.end() && std::get<0>(*found) == settings && std::get<1>(*found) == conditions;
  return is_like ? std::get<2>(*found) : conditions_.size();
}

size_t PlacesOfConfigurations::place_of(const Record& record) {
  const Hash settings = hash_of_settings(record);
  const Hash conditions = hashes_.of(record);
  const size_t next = conditions_.size();
  const auto [first, is_new] = first_.try_emplace(settings, next);
  if (is_new) {
    conditions_.push_back(conditions);
    return next;
  }
  like_.insert({settings, conditions_[first->second], first->second});
  const size_t place = conditions == ConditionHashes::kUnknown
                           ? first->second
                           : std::min(first_like(settings, conditions),
                                      first_like(settings, ConditionHashes::kUnknown));
  if (place == next) {
    conditions_.push_back(conditions);
  } else {
    like_.erase({settings, conditions_[place], place});
    conditions_[place] = conditions;
  }
  like_.insert({settings, conditions, place});
  return place;
}

}  // namespace headroom
