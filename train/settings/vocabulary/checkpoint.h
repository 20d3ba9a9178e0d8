// Activation checkpointing: what a block keeps for backward, and what it recomputes. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "text/enum_words.h"

namespace headroom {

enum class CheckpointKind { kNone, kSelective, kFull, kEvery, kBlocks, kBudget };
const EnumWords<CheckpointKind>& words_of(CheckpointKind);  // "every:K", "blocks:P%", "budget:B"
std::string to_string(CheckpointKind kind);

// The setting: a kind, and for three of them its number.
struct Checkpoint {
  CheckpointKind kind = CheckpointKind::kNone;
  int64_t number = 0;  // K of every:K, P of blocks:P%, 100 B of budget:B

  bool operator==(const Checkpoint&) const = default;
};
std::string to_string(const Checkpoint& checkpoint);  // "none", "every:4", "blocks:50%"

// Throws UsageError on any other text: an unknown word, every:0, blocks:101%, budget:2.
Checkpoint parse_checkpoint(const std::string& flag, std::string_view typed);

// Throws UsageError if a group is larger than the model.
void check_checkpoint(const Checkpoint& checkpoint, int64_t layers);

// Blocks [first, end), one after another. If recomputed, only the input of the first is kept, and
// backward recomputes all of them at once.
struct BlockGroup {
  int64_t first = 0;
  int64_t end = 0;
  bool recomputed = false;

  int64_t count() const { return end - first; }
};

// All blocks of a model in groups, in order. every:K puts the remainder in the last group;
// blocks:P% spreads its blocks evenly, including the first: at 50 % every other block.
std::vector<BlockGroup> block_groups(const Checkpoint& checkpoint, int64_t layers);

// Parts of a block's saves that checkpointing keeps or drops as a whole.
enum class BlockPart {
  kAttentionCore,  // from scores to attention weights; nothing under fused attention
  kOutput,         // the next block's input
  kOther,
};
inline constexpr std::array kBlockParts = {BlockPart::kAttentionCore, BlockPart::kOutput,
                                           BlockPart::kOther};

}  // namespace headroom
