// Rows of the inputs and weights that Linear saves for backward. No torch here.
#pragma once

#include <string>
#include <vector>

#include "profiling/theory/row_builder.h"

namespace headroom {

// The output of a norm, (B, S, D), an input of these projections.
void add_norm_output(RowBuilder& sheet, const std::string& name,
                     const std::vector<std::string>& readers, const std::string& source);
void add_weight(RowBuilder& sheet, const std::string& name, const std::string& shape);

}  // namespace headroom
