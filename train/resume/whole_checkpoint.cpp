#include "train/resume/whole_checkpoint.h"

#include <memory>

#include "files/directory.h"
#include "files/replace_file.h"
#include "text/quantity.h"
#include "train/resume/checkpoint_directory.h"
#include "train/resume/checkpoint_index.h"

namespace headroom {
namespace {

bool is_whole_to_the_bit(const std::string& checkpoint) {
  try {
    const CheckpointIndex index = index_in(index_of_checkpoint(checkpoint));
    std::map<std::string, std::unique_ptr<SafetensorsFile>> files;
    for (const auto& [name, stored] : index.tensors) {
      for (const auto& piece : stored.pieces) {
        auto& file = files[piece.file];
        if (!file) file = std::make_unique<SafetensorsFile>(in_directory(checkpoint, piece.file));
        if (!damage_of(piece, stored, *file).empty()) return false;
      }
    }
    return index.has_sums;
  } catch (const std::exception&) {
    return false;
  }
}

// "" if there is none.
std::string older_whole(const std::string& checkpoint) {
  const auto step = step_of_checkpoint(checkpoint);
  if (!step) return "";
  std::string beside = directory_of(checkpoint);
  if (beside.size() > 1 && beside.ends_with('/')) beside.pop_back();
  std::vector<int64_t> steps = steps_of_checkpoints(beside);
  for (; !steps.empty(); steps.pop_back()) {
    const std::string other = checkpoint_of_step(beside, steps.back());
    if (steps.back() < *step && is_whole_to_the_bit(other)) return other;
  }
  return "";
}

}  // namespace

void refuse_damaged(const std::string& checkpoint, const std::string& problem) {
  const std::string older = older_whole(checkpoint);
  const std::string rest = older.empty() ? "; no older checkpoint beside it is whole"
                                         : "; an older one beside it is whole: " + older;
  throw UsageError("--load-checkpoint", checkpoint, problem + rest,
                   "--load-checkpoint " + (older.empty() ? "checkpoints" : older));
}

}  // namespace headroom
