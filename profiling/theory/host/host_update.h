// What --optimizer-offload keeps on the host, and the gradients that are on the card. No torch
// here. Read beside train/offload/offloaded_optimizer.h.
#pragma once

#include "profiling/theory/row_builder.h"
#include "train/offload/host_traffic.h"

namespace headroom {

// Note [Gradients on their way]
// Rationale: a gradient leaves the card when the one after it is there, so what is on the card at
//   most depends on which two come one after another.
// Approach: the order in which backward completes them is written down once (kArrivals); a row for
//   each of the two that are largest together.
// Limits: the order is that of the operations of model/ in libtorch's engine: the latest made
// first.
void add_leaving_gradients(RowBuilder& sheet);

// Of a later micro-batch, until the host has added them.
inline constexpr const char* kHostAddends = "gradients on the host that are to be added";

// Masters and moments, on the disk where they lie there, and the pinned buffers; all else in kHost.
void add_host_update_rows(RowBuilder& sheet);

// Ordinary memory: of those rows, and of the batch while it is made. Nothing where there are none.
// The numbers that libtorch wraps in tensors of 8 bytes come to it only where a batch is as small.
int64_t host_pageable_bytes(const std::vector<Row>& rows, const RunSpec& spec);
// Slabs of pinned memory.
int64_t gradient_slab_bytes(const std::vector<Row>& rows);
// Of the rows of a group, as HostRanges holds them.
int64_t slab_bytes(const std::vector<Row>& rows, std::string_view group);

// Over the host link in one step: gradients of every micro-batch, weights once.
HostTraffic update_traffic(const std::vector<Row>& rows, const RunSpec& spec);

}  // namespace headroom
