#include "profiling/compare/statistics/student.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

namespace headroom {

double student_two_sided(double t, int freedom) {
  if (!std::isfinite(t)) return 0;
  const double angle = std::atan(std::abs(t) / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle);
  const bool odd = freedom % 2 == 1;
  // Terms in cos^1, cos^3, ... for odd degrees of freedom, in cos^0, cos^2, ... for even ones.
  double term = odd ? cosine : 1;
  double sum = 0;
  for (int power = odd ? 1 : 0; power <= freedom - 2; power += 2) {
    sum += term;
    term *= cosine * cosine * (power + 1) / (power + 2);
  }
  const double inside = std::sin(angle) * sum;
  return std::clamp(1 - (odd ? (angle + inside) * 2 / std::numbers::pi : inside), 0.0, 1.0);
}

double student_quantile(double probability, int freedom) {
  double low = 0;
  double high = 1;
  while (student_two_sided(high, freedom) > probability && high < 1e12) high *= 2;
  while (high - low > high * 4 * std::numeric_limits<double>::epsilon()) {
    const double middle = (low + high) / 2;
    (student_two_sided(middle, freedom) > probability ? low : high) = middle;
  }
  return high;
}

}  // namespace headroom
