// Tensor parallelism: the part of each parameter that a rank holds. No torch here.
#pragma once

#include <cstdint>
#include <string_view>

#include "model/parameter_table.h"

namespace headroom {

// By the parameter's name in a state_dict: "layers.3.attn.q_proj.weight".
Split split_of(std::string_view parameter);
// True for a norm of query or key heads: every rank has all of it, and uses it on its own heads.
bool is_of_each_head(std::string_view parameter);

// Part `index` of `total` cut into `count` equal pieces, the last ones shorter.
struct Range {
  int64_t begin = 0;
  int64_t length = 0;
};
Range part_of(int64_t total, int64_t count, int64_t index);

}  // namespace headroom
