#include "plan/fit/bracket.h"

#include <algorithm>

namespace headroom {
namespace {

// The interval between the largest value that fits and the smallest that does not.
class Bracket {
 public:
  Bracket(const Range& range, const std::function<Fits(int64_t)>& ask)
      : range_(range),
        ask_(ask),
        low_(range.least - range.stride),
        high_(range.most + range.stride) {}

  // False if the answer was kUnknown.
  bool put(int64_t value) {
    const Fits fits = ask_(value);
    if (fits == Fits::kUnknown) return false;
    (fits == Fits::kYes ? low_ : high_) = value;
    return true;
  }
  bool is_closed() const { return high_ - low_ <= range_.stride; }
  bool none_fits() const { return low_ < range_.least; }
  bool all_fit() const { return high_ > range_.most; }
  int64_t low() const { return low_; }
  int64_t high() const { return high_; }
  // A multiple of the stride, strictly between.
  int64_t middle() const {
    const int64_t strides = (high_ - low_) / range_.stride;
    return low_ + strides / 2 * range_.stride;
  }

 private:
  const Range& range_;
  const std::function<Fits(int64_t)>& ask_;
  int64_t low_;
  int64_t high_;
};

}  // namespace

std::optional<int64_t> largest_that_fits(const Range& range, int64_t guess,
                                         const std::function<Fits(int64_t)>& ask,
                                         int64_t first_step) {
  Bracket bracket(range, ask);
  const int64_t first = guess / range.stride * range.stride;
  if (!bracket.put(std::clamp(first, range.least, range.most))) return std::nullopt;
  // Grow the step away from the guess until both sides are bounded.
  const int64_t strides = std::max<int64_t>(first_step / range.stride, 1);
  for (int64_t step = strides * range.stride; !bracket.is_closed(); step *= 2) {
    int64_t next = bracket.middle();
    if (bracket.all_fit()) {
      next = std::min(bracket.low() + step, range.most);
    } else if (bracket.none_fits()) {
      next = std::max(bracket.high() - step, range.least);
    }
    if (!bracket.put(next)) return std::nullopt;
  }
  return bracket.none_fits() ? 0 : bracket.low();
}

}  // namespace headroom
