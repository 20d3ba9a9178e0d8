// Memory of an update.
#pragma once

#include "profiling/theory/row_builder.h"

namespace headroom {

// For released gradients: the one alive.
void add_released_gradient(RowBuilder& sheet);

// For a training step: clipping, the optimizer's state and temporaries, master weights.
void add_update_rows(RowBuilder& sheet);

}  // namespace headroom
