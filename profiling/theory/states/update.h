// What an update keeps, makes and frees.
#pragma once

#include "profiling/theory/row_builder.h"

namespace headroom {

// Where gradients are released: the one that is there.
void add_released_gradient(RowBuilder& sheet);

// Of a training step: clipping, the optimizer's state and temporaries, master weights.
void add_update_rows(RowBuilder& sheet);

}  // namespace headroom
