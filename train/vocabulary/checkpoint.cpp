#include "train/vocabulary/checkpoint.h"

namespace headroom {

const EnumWords<Checkpoint>& words_of(Checkpoint) {
  static const EnumWords<Checkpoint> kWords = {
      {Checkpoint::kNone, "none", "everything backward needs is kept"},
      {Checkpoint::kSelective, "selective", "scores and attention weights are computed again"},
      {Checkpoint::kFull, "full", "each block keeps its output only and is computed again"}};
  return kWords;
}

std::string to_string(Checkpoint checkpoint) { return word_of(checkpoint); }

bool keeps(Checkpoint checkpoint, BlockPart part) {
  switch (checkpoint) {
    case Checkpoint::kNone:
      return true;
    case Checkpoint::kSelective:
      return part != BlockPart::kAttentionCore;
    case Checkpoint::kFull:
      return part == BlockPart::kOutput;
  }
  return true;
}

}  // namespace headroom
