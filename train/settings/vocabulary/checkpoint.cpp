#include "train/settings/vocabulary/checkpoint.h"

#include <algorithm>
#include <cmath>

#include "text/quantity.h"

namespace headroom {
namespace {

constexpr std::string_view kEvery = "every:";
constexpr std::string_view kBlocks = "blocks:";
constexpr std::string_view kBudget = "budget:";
constexpr const char* kAnyPercentage = "blocks:0% to blocks:100%";
constexpr int64_t kMostBlocks = 100000;  // as --layers

[[noreturn]] void refuse(const std::string& flag, std::string_view typed, const std::string& why,
                         const std::string& example) {
  throw UsageError(flag, typed, why, flag + " " + example);
}

int64_t group_size(const std::string& flag, std::string_view typed) {
  try {
    return parse_integer(flag, typed.substr(kEvery.size()), 1, kMostBlocks);
  } catch (const UsageError&) {
    refuse(flag, typed, "is no number of blocks; allowed: every:1 to every:N of N blocks",
           "every:2");
  }
}

int64_t percentage(const std::string& flag, std::string_view typed) {
  std::string_view number = typed.substr(kBlocks.size());
  if (number.ends_with('%')) {
    number.remove_suffix(1);
    try {
      return parse_integer(flag, number, 0, 100);
    } catch (const UsageError&) {  // reported below, with the whole text
    }
  }
  refuse(flag, typed, std::string("is no percentage; allowed: ") + kAnyPercentage, "blocks:50%");
}

int64_t hundredths(const std::string& flag, std::string_view typed) {
  try {
    const double budget = 100 * parse_number(flag, typed.substr(kBudget.size()), 0.0, 1);
    if (const auto whole = static_cast<int64_t>(std::lround(budget));
        std::abs(budget - static_cast<double>(whole)) < 1e-9) {
      return whole;
    }
  } catch (const UsageError&) {  // reported below, with the whole text
  }
  refuse(flag, typed, "is no budget; allowed: budget:0 to budget:1, in hundredths", "budget:0.5");
}

// Percentage of `layers` blocks, rounded half up.
int64_t share(int64_t percent, int64_t layers) { return (2 * percent * layers + 100) / 200; }

std::vector<BlockGroup> groups_of(int64_t size, int64_t layers) {
  std::vector<BlockGroup> groups;
  for (int64_t first = 0; first < layers; first += size) {
    groups.push_back({first, std::min(first + size, layers), true});
  }
  return groups;
}

// Each recomputed block is its own group; the blocks between two of them are one group.
std::vector<BlockGroup> spread(int64_t recomputed, int64_t layers) {
  std::vector<BlockGroup> groups;
  for (int64_t block = 0; block < layers; ++block) {
    const bool is_one = block * recomputed % layers < recomputed;
    if (is_one || groups.empty() || groups.back().recomputed) {
      groups.push_back({block, block + 1, is_one});
    } else {
      groups.back().end = block + 1;
    }
  }
  return groups;
}

}  // namespace

const EnumWords<CheckpointKind>& words_of(CheckpointKind) {
  static const EnumWords<CheckpointKind> kWords = {
      {CheckpointKind::kNone, "none", "everything backward needs is kept"},
      {CheckpointKind::kSelective, "selective", "scores and attention weights are computed again"},
      {CheckpointKind::kFull, "full", "each block keeps its output only and is computed again"},
      {CheckpointKind::kEvery, "every:K",
       "K blocks keep one output and are computed again at once"},
      {CheckpointKind::kBlocks, "blocks:P%", "as full, of P per cent of the blocks"},
      {CheckpointKind::kBudget, "budget:B",
       "with --kernels compiled, the compiler keeps a share B (0 to 1) of its usual activations"}};
  return kWords;
}

std::string to_string(CheckpointKind kind) { return word_of(kind); }

std::string to_string(const Checkpoint& checkpoint) {
  const std::string number = std::to_string(checkpoint.number);
  switch (checkpoint.kind) {
    case CheckpointKind::kEvery:
      return std::string(kEvery) + number;
    case CheckpointKind::kBlocks:
      return std::string(kBlocks) + number + "%";
    case CheckpointKind::kBudget:
      return std::string(kBudget) + shortest_text(static_cast<double>(checkpoint.number) / 100);
    default:
      return word_of(checkpoint.kind);
  }
}

Checkpoint parse_checkpoint(const std::string& flag, std::string_view typed) {
  if (typed.starts_with(kEvery)) return {CheckpointKind::kEvery, group_size(flag, typed)};
  if (typed.starts_with(kBlocks)) return {CheckpointKind::kBlocks, percentage(flag, typed)};
  if (typed.starts_with(kBudget)) return {CheckpointKind::kBudget, hundredths(flag, typed)};
  return {parse_word<CheckpointKind>(flag, typed)};
}

void check_checkpoint(const Checkpoint& checkpoint, int64_t layers) {
  if (checkpoint.kind != CheckpointKind::kEvery || checkpoint.number <= layers) return;
  refuse("--recompute", to_string(checkpoint),
         "is more than the model's " + std::to_string(layers) +
             " blocks; allowed: every:1 to every:" + std::to_string(layers),
         "every:" + std::to_string(std::min<int64_t>(layers, 2)));
}

std::vector<BlockGroup> block_groups(const Checkpoint& checkpoint, int64_t layers) {
  switch (checkpoint.kind) {
    case CheckpointKind::kFull:
      return groups_of(1, layers);
    case CheckpointKind::kEvery:
      return groups_of(checkpoint.number, layers);
    case CheckpointKind::kBlocks:
      return spread(share(checkpoint.number, layers), layers);
    case CheckpointKind::kNone:
    case CheckpointKind::kSelective:
    case CheckpointKind::kBudget:
      break;
  }
  return {{0, layers, false}};
}

}  // namespace headroom
