// Adam-mini's partition of a parameter into blocks with one v each. No torch here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom {

// Note [Adam-mini's partition]
// Rationale: Zhang et al. 2024 (Adam-mini: Use Fewer Learning Rates To Gain More, arXiv 2406.16793)
//   give a block of parameters one learning rate where its Hessian is dense; the choice of blocks
//   decides whether training is stable.
// Approach: the partition for Transformers of the paper's algorithm, as in version 1.1.1 of its
//   authors' program: query and key by heads; value, attention's output and feed-forward by output
//   neurons, embedding and output by tokens, which are all rows of our weights; every other
//   parameter is one block, here norms and biases. Names in a state_dict identify the parameters.
// Limits: earlier versions differ: 1.0 kept Adam's own v for embedding and output, and one v for a
//   whole value, output or feed-forward matrix. They keep Adam's v for biases.

// Rows (first dimension) of a parameter that share one v; all rows of a vector. name: with or
// without layer and ".weight". head_dim: rows of one head in query and key.
int64_t rows_per_block(std::string_view name, const std::vector<int64_t>& sizes, int64_t head_dim);

}  // namespace headroom
