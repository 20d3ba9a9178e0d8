// The experts that --route gives to each token.
//
// Note [Routing]
// Rationale: a router selects the best experts of each token by scores, which are unknown. The
//   selection decides sizes: the tokens of each expert, the parts that ranks exchange.
// Approach: the indices that a selection returns (topk of a row of scores) get known values by a
//   rule. The program computes counts, masks, offsets and splits of them, in its own way, and all
//   of these follow by Note [Operations on known values]. Integers of up to 64 MiB are then
//   computed: a mask has an element for each token and expert.
//   balanced: selection i of a rank is of expert i modulo the experts, so each has its share.
//   worst: all tokens go to the first experts, as many as a token selects. They are on rank 0.
//   N: experts drawn at random, of the seed N and the rank. Equal for all layers and steps, because
//   checkpointing selects again in backward and has to find the same sizes.
// Limits: a selection among more than 4,096 is one of tokens. Selections by other operations (an
//   argmax, a kernel of the program's own) are not seen. A router that first selects groups of
//   experts may get experts outside of these groups from N.
#pragma once

#include <ATen/ATen.h>

#include <cstdint>
#include <vector>

namespace headroom {

// False if the program is not to be routed. Read once, from the environment.
bool is_routing();

// True if aten::topk with these arguments selects experts for tokens.
bool selects_experts(c10::ArrayRef<const c10::IValue> arguments);

// Writes the indices that it returned. `experts`: the size of a row.
void write_selection(const std::vector<c10::IValue>& outputs, int64_t experts);

}  // namespace headroom

// The number of selections that were written, for the program's report.
extern "C" uint64_t headroom_routed_selections();
