#include "profiling/theory/rehearsal/generate/pass.h"

#include <algorithm>
#include <numeric>

#include "profiling/theory/rehearsal/run.h"

namespace headroom {

int64_t ShapeLayout::tokens() const {
  return std::accumulate(spans.begin(), spans.end(), int64_t{0},
                         [](int64_t sum, const RehearsedSpan& span) { return sum + span.length; });
}

bool ShapeLayout::even() const {
  return std::all_of(spans.begin(), spans.end(), [&](const RehearsedSpan& span) {
    return span.length == spans.front().length && span.first == spans.front().first;
  });
}

bool ShapeLayout::decodes() const {
  return cache != nullptr && std::all_of(spans.begin(), spans.end(), [](const RehearsedSpan& span) {
           return span.length == 1 && span.first > 0;
         });
}

ShapeLayout packed_shape_layout(Run& run, const std::vector<int64_t>& lengths) {
  std::vector<RehearsedSpan> spans;
  spans.reserve(lengths.size());
  for (const int64_t length : lengths) spans.push_back({.length = length});
  return make_shape_layout(run, std::move(spans));
}

ShapeLayout make_shape_layout(Run& run, std::vector<RehearsedSpan> spans, ShapeCache* cache) {
  ShapeLayout pass{.spans = std::move(spans), .cache = cache};
  pass.positions_T = integers(run, pass.tokens());
  return pass;
}

}  // namespace headroom
