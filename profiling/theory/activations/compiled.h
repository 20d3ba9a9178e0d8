// Tensors that compiled regions keep for backward, as the compiler's split lists them.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"

namespace headroom {

// The rows of blocks, embedding and loss for --kernels compiled. Reads the regions' descriptions:
// throws std::runtime_error if they are not in the cache (compile_regions() puts them there).
std::vector<Row> compiled_rows(const RunSpec& spec);

// Removes the casts of weights that an eager step keeps: a region has its own among its rows.
void drop_casts(std::vector<Row>& rows);

}  // namespace headroom
