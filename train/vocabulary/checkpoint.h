// Activation checkpointing: what a block keeps for backward, and what it computes again. No torch
// here.
#pragma once

#include <array>
#include <string>

#include "text/enum_words.h"

namespace headroom {

enum class Checkpoint { kNone, kSelective, kFull };
const EnumWords<Checkpoint>& words_of(Checkpoint);
std::string to_string(Checkpoint checkpoint);  // "none", "selective", "full"

// What a block saves for backward, in the parts that checkpointing keeps or drops as a whole.
enum class BlockPart {
  kAttentionCore,  // from scores to attention weights; nothing under fused attention
  kOutput,         // what the next block begins with
  kOther,
};
inline constexpr std::array kBlockParts = {BlockPart::kAttentionCore, BlockPart::kOutput,
                                           BlockPart::kOther};

// Whether a block still has the part when its forward has ended. What it has not is computed again,
// one block at a time, when backward comes to it.
bool keeps(Checkpoint checkpoint, BlockPart part);

}  // namespace headroom
