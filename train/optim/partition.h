// How Adam-mini divides a parameter into blocks, each with one v. No torch here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom {

// Note [Adam-mini's partition]
// Rationale: Zhang et al. 2024 (Adam-mini: Use Fewer Learning Rates To Gain More, arXiv 2406.16793)
//   give a block of parameters one learning rate where its Hessian is dense, and what a block is
//   decides whether training is stable.
// Approach: the partition for Transformers of the paper's algorithm, as version 1.1.1 of its
//   authors' program has it: query and key by heads; value, attention's output and feed-forward by
//   output neurons, embedding and output by tokens, which are all rows of a weight of ours; every
//   other parameter is one block, which here are the norms. Parameters are told by their names in a
//   state_dict.
// Limits: earlier versions differ: 1.0 kept Adam's own v for embedding and output, and one v for a
//   whole value, output or feed-forward matrix. Biases, which they keep Adam's v for, we have none.

// Rows (first dimension) of a parameter that share one v; all of a vector's. name: with or without
// its layer and ".weight". head_dim: rows of one head of query and key.
int64_t rows_per_block(std::string_view name, const std::vector<int64_t>& sizes, int64_t head_dim);

}  // namespace headroom
