// What theory says of the sets of one search, each asked once. No torch here.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plan/fit/search.h"

namespace headroom {

class Estimates {
 public:
  explicit Estimates(const Judge& judge) : judge_(judge) {}

  // Of a run that theory refuses: as much as there is not.
  int64_t floor(const RunSpec& spec) { return of(floors_, judge_.floor, spec); }
  int64_t need(const RunSpec& spec) { return of(needs_, judge_.need, spec); }
  bool fits(const RunSpec& spec);

  // The place of the set that needs least; `places` is not empty.
  size_t smallest(const std::vector<TechniqueSet>& sets, std::vector<size_t> places);

 private:
  using Known = std::map<std::string, int64_t>;
  static int64_t of(Known& known, const std::function<int64_t(const RunSpec&)>& ask,
                    const RunSpec& spec);

  const Judge& judge_;
  Known floors_;
  Known needs_;
  std::map<std::string, bool> fits_;
};

}  // namespace headroom
