// How often a search asks, by kind. No torch here.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "plan/fit/search.h"

namespace headroom {

// Counts what passes through a Judge. Copies of counted() count together; a search asks from
// several threads.
class QuestionCounter {
 public:
  // The same Judge, whose questions are counted. It may outlive this.
  Judge counted(Judge judge) const;
  Questions so_far() const;

 private:
  struct Counts {
    std::atomic<size_t> floors = 0, needs = 0, guesses = 0, fits = 0, hosts = 0, cells = 0;
  };
  std::shared_ptr<Counts> counts_ = std::make_shared<Counts>();
};

}  // namespace headroom
