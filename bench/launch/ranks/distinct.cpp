#include "bench/launch/ranks/distinct.h"

#include <algorithm>
#include <optional>
#include <set>
#include <stdexcept>

namespace headroom {
namespace {

// A group's ranks relative to its first: groups of the same shape belong to one axis.
RankList shape_of(const RankList& group) {
  RankList shape = group;
  for (int64_t& rank : shape) rank -= group.front();
  return shape;
}

// Each rank's place on an axis; 0 if it has none.
std::vector<int64_t> places_on(const RankList& axis, const std::vector<RankList>& groups,
                               int64_t world_size) {
  std::vector<int64_t> places(static_cast<size_t>(world_size), 0);
  for (const RankList& group : groups) {
    if (shape_of(group) != shape_of(axis)) continue;
    for (size_t place = 0; place < group.size(); ++place) {
      places[static_cast<size_t>(group[place])] = static_cast<int64_t>(place);
    }
  }
  return places;
}

class Runs {
 public:
  explicit Runs(const std::function<RankPrint(int64_t)>& run) : run_(run) {}

  const RankPrint& of(int64_t rank) {
    const auto known = prints_.find(rank);
    if (known != prints_.end()) return known->second;
    if (static_cast<int64_t>(prints_.size()) == kMostRuns) {
      throw std::runtime_error("more than " + std::to_string(kMostRuns) +
                               " ranks differ, or differ from run to run: give --rank a list");
    }
    return prints_[rank] = run_(rank);
  }

 private:
  const std::function<RankPrint(int64_t)>& run_;
  std::map<int64_t, RankPrint> prints_;
};

// Maps each place on the axis to the first equal one.
class AxisKinds {
 public:
  AxisKinds(const RankList& axis, Runs& runs) : axis_(axis), runs_(runs), first_(axis.size()) {
    const size_t last = axis.size() - 1;
    split(0, last / 2);
    split(last / 2, last);
    for (size_t place = 1; place <= last; ++place) {
      first_[place] = starts_.contains(place) ? place : first_[place - 1];
    }
  }
  int64_t first_like(int64_t place) const {
    return static_cast<int64_t>(first_[static_cast<size_t>(place)]);
  }

 private:
  void split(size_t low, size_t high) {
    if (low == high || runs_.of(axis_[low]) == runs_.of(axis_[high])) return;
    if (high - low == 1) {
      starts_.insert(high);
      return;
    }
    const size_t middle = low + (high - low) / 2;
    split(low, middle);
    split(middle, high);
  }

  const RankList& axis_;
  Runs& runs_;
  std::set<size_t> starts_;
  std::vector<size_t> first_;
};

}  // namespace

std::vector<RankList> axes_of(const std::vector<RankList>& groups, int64_t world_size) {
  std::vector<RankList> candidates;
  for (const RankList& group : groups) {
    if (group.size() > 1 && group.front() == 0 && static_cast<int64_t>(group.size()) < world_size) {
      candidates.push_back(group);
    }
  }
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const RankList& a, const RankList& b) { return a.size() < b.size(); });
  std::vector<RankList> axes;
  for (const RankList& group : candidates) {
    size_t spanned = 1;
    for (const RankList& axis : axes) {
      if (std::includes(group.begin(), group.end(), axis.begin(), axis.end())) {
        spanned *= axis.size();
      }
    }
    if (spanned < group.size()) axes.push_back(group);
  }
  if (!axes.empty()) return axes;
  RankList world;
  for (int64_t rank = 0; rank < world_size; ++rank) world.push_back(rank);
  return {world};
}

std::vector<RankKind> distinct_ranks(const std::vector<RankList>& groups, int64_t world_size,
                                     const std::function<RankPrint(int64_t)>& run) {
  Runs runs(run);
  std::vector<std::vector<int64_t>> kinds(static_cast<size_t>(world_size));
  for (const RankList& axis : axes_of(groups, world_size)) {
    const AxisKinds along(axis, runs);
    std::vector<RankList> all = groups;
    all.push_back(axis);
    const std::vector<int64_t> places = places_on(axis, all, world_size);
    for (size_t rank = 0; rank < kinds.size(); ++rank) {
      kinds[rank].push_back(along.first_like(places[rank]));
    }
  }
  std::map<std::vector<int64_t>, std::vector<int64_t>> by_kind;
  for (size_t rank = 0; rank < kinds.size(); ++rank) {
    by_kind[kinds[rank]].push_back(static_cast<int64_t>(rank));
  }
  std::vector<RankKind> found;
  for (auto& [kind, ranks] : by_kind) {
    const int64_t first = ranks.front();
    runs.of(first);
    found.push_back({.rank = first, .ranks = std::move(ranks)});
  }
  std::sort(found.begin(), found.end(),
            [](const RankKind& a, const RankKind& b) { return a.rank < b.rank; });
  return found;
}

std::string rank_list(const std::vector<int64_t>& ranks) {
  std::string text;
  for (size_t first = 0; first < ranks.size();) {
    size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ",";
    text += std::to_string(ranks[first]);
    if (last > first) text += (last > first + 1 ? "-" : ",") + std::to_string(ranks[last]);
    first = last + 1;
  }
  return text;
}

}  // namespace headroom
