// Groups sequences for forward passes, in order: micro-batches under a token budget, shuffled
// minibatches. No torch here.
//
// Note [Packing]
// Rationale: with a fixed number of sequences, a micro-batch's memory is that number times its
//   longest one. The memory of a pass grows with its tokens.
// Approach: as few micro-batches as the longest-first rule needs. Starting with total / budget,
//   rounded up, the longest remaining sequence goes to the micro-batch with the fewest tokens; if
//   one exceeds the budget, the rule is repeated with one more. So all are nearly equally full (for
//   a given number, the fullest has at most 4/3 - 1/(3 m) of the least that is possible: Graham
//   1969), and none exceeds the budget. The fullest comes first, so that an out-of-memory error
//   comes at once.
// Limits: this balances tokens, not the arithmetic of attention, which grows with the square of a
//   length. There may be one micro-batch more than the minimum.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

using Indices = std::vector<int64_t>;

// The indices of the sequences of each micro-batch, ascending; every sequence is in one. lengths:
// tokens of each sequence, prompt and response. budget: tokens of a micro-batch; 0: one micro-batch
// with all sequences. Throws UsageError if one sequence is longer than the budget.
std::vector<Indices> pack_sequences(const Indices& lengths, int64_t budget);

// The numbers 0 to sequences - 1 in `count` parts whose sizes differ by at most one. The order
// depends only on (seed, epoch) and is the same on every machine.
std::vector<Indices> shuffled_minibatches(int64_t sequences, int64_t count, uint64_t seed,
                                          int64_t epoch);

}  // namespace headroom
