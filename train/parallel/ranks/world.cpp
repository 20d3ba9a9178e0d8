#include "train/parallel/ranks/world.h"

#include <utility>

namespace headroom {

void World::add(std::shared_ptr<RankGroup> ranks) {
  if (ranks) parts_.push_back(ranks);
  add_copies(std::move(ranks));
}

void World::add_copies(std::shared_ptr<RankGroup> ranks) {
  if (ranks) all_.push_back(std::move(ranks));
}

void World::add_up(torch::Tensor& number) const {
  for (const auto& ranks : parts_) ranks->all_reduce({number})->wait();
}

double World::sum(double here) const {
  torch::Tensor number = torch::full({}, here, torch::dtype(torch::kFloat64).device(device_));
  add_up(number);
  return number.item<double>();
}

bool World::all(bool here) const {
  for (const auto& ranks : all_) here = ranks->all(here, device_);
  return here;
}

}  // namespace headroom
