#include "train/offload/activations/saved_units.h"

#include <algorithm>
#include <utility>

namespace headroom {

size_t SavedUnits::of_a_save(int64_t block) {
  const auto is_gone = [](const Unit& unit) {
    return std::all_of(unit.moved.begin(), unit.moved.end(),
                       [](const auto& moved) { return moved.expired(); });
  };
  while (!units_.empty() && is_gone(units_.back())) units_.pop_back();
  const bool goes_on = block != kNoBlock && !units_.empty() && units_.back().block == block &&
                       units_.back().pass == pass_;
  if (goes_on) return units_.size() - 1;
  units_.push_back({.block = block, .pass = pass_});
  if (const size_t begun = units_.size(); begun > kStillOnCard) {
    for (const auto& moved : units_[begun - kStillOnCard - 1].moved) {
      if (const auto alive = moved.lock()) alive->leave();
    }
  }
  return units_.size() - 1;
}

void SavedUnits::use(size_t unit) {
  fetch(units_[unit]);
  if (unit > 0 && units_[unit - 1].pass == units_[unit].pass) fetch(units_[unit - 1]);
}

void SavedUnits::fetch(Unit& unit) {
  if (std::exchange(unit.fetched, true)) return;
  for (const auto& moved : unit.moved) {
    if (const auto alive = moved.lock()) alive->fetch();
  }
}

}  // namespace headroom
