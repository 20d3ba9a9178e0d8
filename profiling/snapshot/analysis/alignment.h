// The moments of one program in another's trace. No torch here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace headroom {

// Note [Moments of two programs]
// Rationale: two programs are compared at one moment of both: after the same allocation. Indices do
//   not say which one that is, if one program allocates more than the other.
// Approach: each allocation is a token: its line of code and its size, or less where few are equal.
// Equal tokens are
//   paired in order. After a difference the pairing goes on at the nearest place, counted in
//   skipped tokens of both, where kAgain tokens in a row are equal again. Skipped tokens are paired
//   one by one as far as they go, because one replaces the other.
//   If one side goes on after the other's end for more than kLongestTail tokens, the rest has no
//   moment: it is another part of a program, and everything is different from nothing.
// Limits: not the longest common sequence, whose search takes quadratic time on traces of a million
//   events. The choice of the moment may suffer from it, the figures at that moment do not.
inline constexpr size_t kAgain = 4;
inline constexpr size_t kLongestTail = 64;

// Indices into a and b, both not falling; an entry repeats its predecessor's index on the side that
// did not move, and -1 is before the first token.
using Moments = std::vector<std::pair<int64_t, int64_t>>;
Moments align(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b);

// The share of the longer one's tokens that have an equal partner.
double matched_share(const Moments& moments, const std::vector<uint64_t>& a,
                     const std::vector<uint64_t>& b);

}  // namespace headroom
