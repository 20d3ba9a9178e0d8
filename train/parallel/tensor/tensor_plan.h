// Tensor parallelism as a table: how each parameter is split over the ranks that share it (Shoeybi
// et al. 2019, "Megatron-LM", section 3). No torch here.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace headroom {

enum class Split {
  kWhole,    // on every rank
  kRows,     // by outputs: heads, d_ff, the vocabulary
  kColumns,  // by inputs; the products of all ranks are added up
};

// Of a parameter by its name in a state_dict, "layers.3.attn.q_proj.weight".
Split split_of(std::string_view parameter);

// Part `index` of `total` cut into `count` equal pieces, the last ones shorter.
struct Range {
  int64_t begin = 0;
  int64_t length = 0;
};
Range part_of(int64_t total, int64_t count, int64_t index);

}  // namespace headroom
