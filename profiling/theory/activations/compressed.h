// What --activations keeps instead of what autograd saves. No torch here. Read beside
// train/techniques/compressed_activations.h.
#pragma once

#include <vector>

#include "profiling/theory/rows.h"

namespace headroom {

// Note [Rows in 8 bit]
// Rationale: which saves are packed is decided save by save (takes() of CompressedActivations); a
//   row is a storage.
// Approach: a row of what a forward keeps becomes one of codes (1 byte a number) and one of scales
//   (4 bytes a block) where all of this holds: a node saves it, it is FP32, FP16 or BF16, a
//   gradient goes through it, its last dimension is not 1, one storage of it is at least min_bytes.
//   A block's input is packed by the block that saves it, not by the one that made it, and so are
//   the last block's output (by the final norm) and the embedding (by block 0).
// Limits: of a context of one token a product saves k, and einsum v, with the context as the last
//   dimension: they are kept.
void compress_saved(std::vector<Row>& rows, const RunSpec& spec);

// For those who keep saves in another form.

bool is_low_or_single(DType dtype);
// Whether it is what a forward keeps and a gradient goes through, saved by a node, in storages of
// at least min_bytes.
bool is_saved_whole(const Row& row, int64_t min_bytes);
// As is_coded().
bool bears_8_bits(const Row& row);
// The residual stream as a norm saves it; another row counts its memory.
bool is_stream_of_a_norm(const Row& row);
// `stream` counts the memory from here on that `of` counted.
void take_over(Row& stream, const Row& of);
// What 8 bits make of a row.
Row codes_row(const Row& row, const Activations& activations);
Row scales_row(const Row& row, const Activations& activations);

}  // namespace headroom
