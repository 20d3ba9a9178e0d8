// Rows of a block's feed-forward. Read beside SwiGlu in model/layers.cpp. No torch here.
#pragma once

#include "profiling/theory/row_builder.h"

namespace headroom {

// Saved for backward, with the output of the norm in front.
void add_feed_forward_rows(RowBuilder& sheet);

// Local tensors at the fullest instants of a forward without gradients.
void add_feed_forward_instant(RowBuilder& sheet);
void add_fp8_feed_forward_instant(RowBuilder& sheet);

}  // namespace headroom
