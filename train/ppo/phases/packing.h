// Which sequences go forward together, and in which order: micro-batches under a budget of tokens,
// shuffled minibatches. No torch here.
//
// Note [Packing]
// Rationale: a fixed number of sequences in a micro-batch takes the memory of its longest one times
//   that number. What a pass needs grows with its tokens.
// Approach: as few micro-batches as the longest-first rule finds room in: beginning with total /
//   budget, rounded up, the longest sequence that is left goes where the fewest tokens are; where
//   one goes over the budget, once more with one micro-batch more. So all are nearly equally full
//   (for a given number, the fullest has at most 4/3 - 1/(3 m) of the least that is possible:
//   Graham 1969), and none is above the budget. The fullest comes first: what does not fit fails
//   at once.
// Limits: tokens are what is balanced, not the arithmetic of attention, which grows with the square
//   of a length. One micro-batch more than the fewest is possible.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headroom {

using Indices = std::vector<int64_t>;

// The numbers of the sequences of each micro-batch, each in rising order; every sequence is in one.
// lengths: tokens of each sequence, prompt and response. budget: tokens of a micro-batch; 0: all
// sequences are one. Throws UsageError where a sequence alone is longer than the budget.
std::vector<Indices> pack_sequences(const Indices& lengths, int64_t budget);

// The numbers 0 to sequences - 1 in `count` parts whose sizes differ by one at most, in an order
// that depends on (seed, epoch) alone and is the same on every machine.
std::vector<Indices> shuffled_minibatches(int64_t sequences, int64_t count, uint64_t seed,
                                          int64_t epoch);

}  // namespace headroom
