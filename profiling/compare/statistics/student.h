// Student's t distribution. No torch here.
#pragma once

namespace headroom {

// The probability that |T| is at least |t|, for a whole number of degrees of freedom >= 1. The
// finite series 26.7.3 and 26.7.4 of Abramowitz and Stegun, Handbook of Mathematical Functions
// (1964). Exact to about 1e-15, so smaller probabilities are 0.
double student_two_sided(double t, int freedom);

// The t >= 0 for which student_two_sided(t, freedom) is `probability`, in (0, 1).
double student_quantile(double probability, int freedom);

}  // namespace headroom
