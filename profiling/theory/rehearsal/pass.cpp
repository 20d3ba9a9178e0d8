#include "profiling/theory/rehearsal/pass.h"

#include <algorithm>
#include <numeric>

#include "profiling/theory/rehearsal/run.h"

namespace headroom {

int64_t ShapePass::tokens() const {
  return std::accumulate(
      stretches.begin(), stretches.end(), int64_t{0},
      [](int64_t sum, const ShapeStretch& stretch) { return sum + stretch.length; });
}

bool ShapePass::even() const {
  return std::all_of(stretches.begin(), stretches.end(), [&](const ShapeStretch& stretch) {
    return stretch.length == stretches.front().length && stretch.first == stretches.front().first;
  });
}

bool ShapePass::decodes() const {
  return cache != nullptr &&
         std::all_of(stretches.begin(), stretches.end(), [](const ShapeStretch& stretch) {
           return stretch.length == 1 && stretch.first > 0;
         });
}

ShapePass packed_shape_pass(Run& run, const std::vector<int64_t>& lengths) {
  std::vector<ShapeStretch> stretches;
  stretches.reserve(lengths.size());
  for (const int64_t length : lengths) stretches.push_back({.length = length});
  return make_shape_pass(run, std::move(stretches));
}

ShapePass make_shape_pass(Run& run, std::vector<ShapeStretch> stretches, ShapeCache* cache) {
  ShapePass pass{.stretches = std::move(stretches), .cache = cache};
  pass.positions_T = integers(run, pass.tokens());
  return pass;
}

}  // namespace headroom
