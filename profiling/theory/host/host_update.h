// Memory of --optimizer-offload on the host, and the gradients on the card. No torch here. Read
// beside train/offload/states/offloaded_optimizer.h.
#pragma once

#include "profiling/theory/row_builder.h"
#include "train/offload/host_traffic.h"

namespace headroom {

// Note [Gradients on their way]
// Rationale: a gradient leaves the card when the next one is there, so the most on the card depends
//   on which two are consecutive.
// Approach: kArrivals has the order in which backward completes them, once; a row for each of the
//   two consecutive gradients whose sum is largest.
// Limits: the order is that of model/'s operations in libtorch's engine: the last made first.
void add_leaving_gradients(RowBuilder& sheet);

// Gradients of a later micro-batch, until the host adds them.
inline constexpr const char* kHostAddends = "gradients on the host that are to be added";

// Masters and moments, on the disk if they are there, and the pinned buffers; all others in kHost.
void add_host_update_rows(RowBuilder& sheet);

// Pageable memory of those rows, and of the batch while it is made. 0 if there are no rows. Numbers
// that libtorch wraps in tensors of 8 bytes come to it only if a batch is as small.
int64_t host_pageable_bytes(const std::vector<Row>& rows, const RunSpec& spec);
// Slabs of pinned memory.
int64_t gradient_slab_bytes(const std::vector<Row>& rows);
// A group's slabs, as HostRanges holds them.
int64_t slab_bytes(const std::vector<Row>& rows, std::string_view group);

// Over the host link in one step: gradients of every micro-batch, weights once.
HostTraffic update_traffic(const std::vector<Row>& rows, const RunSpec& spec);

}  // namespace headroom
