// The phase of a snapshot's program, by its annotations. No torch here.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "profiling/snapshot/snapshot.h"

namespace headroom {

// The innermost open annotation at every time.
class PhaseTimes {
 public:
  PhaseTimes(const std::vector<Annotation>& annotations, int64_t device);

  // Without a number at its end: all blocks are one phase. "" outside of any.
  std::string at(int64_t time_us) const;

 private:
  std::map<int64_t, std::string> innermost_;
};

}  // namespace headroom
