// The forms that --activations keeps instead of autograd's saves. No torch here. Read beside
// train/techniques/activations/compressed_activations.h.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"

namespace headroom {

// Note [Rows in 8 bit]
// Rationale: takes() of CompressedActivations decides for each save if it is packed; a row is a
//   storage.
// Approach: a row of a forward becomes one of codes (1 byte a number) and one of scales (4 bytes a
//   block) if all of this holds: a node saves it, it is FP32, FP16 or BF16, a gradient goes through
//   it, its last dimension is not 1, one storage of it is at least min_bytes. A block's input is
//   packed by the block that saves it, not by the one that made it. So are the last block's output
//   (by the final norm) and the embedding (by block 0).
// Limits: for a context of one token a product saves k, and einsum v, with the context as the last
//   dimension: they are not packed.
void compress_saved(std::vector<Row>& rows, const RunSpec& spec);

// For code that keeps saves in another form.

bool is_low_or_single(DType dtype);
// True if a forward keeps it, a gradient goes through it, a node saves it, and its storages have at
// least min_bytes.
bool is_saved_whole(const Row& row, int64_t min_bytes);
// Like is_coded().
bool bears_8_bits(const Row& row);
// The residual stream as a norm saves it; another row counts its memory.
bool is_stream_of_a_norm(const Row& row);
// From here on `stream` counts the memory that `of` counted.
void take_over(Row& stream, const Row& of);
// The 8-bit form of a row.
Row codes_row(const Row& row, const Activations& activations);
Row scales_row(const Row& row, const Activations& activations);

}  // namespace headroom
