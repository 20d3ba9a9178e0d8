#include "cli/flags/runs/rank_flag.h"

#include <algorithm>

#include "text/quantity.h"

namespace headroom {
namespace {

// The limit of concurrent processes with libtorch on one machine.
constexpr int64_t kMostTogether = 64;
constexpr const char* kRankExample =
    "--profile-type training --mesh dp=8 --rank 0 --device virtual:h100-80gb";

void check_together(const RunSpec& spec) {
  const int64_t ranks = spec.mesh.ranks();
  if (ranks <= kMostTogether) return;
  throw UsageError("--rank", "all",
                   "starts " + std::to_string(ranks) + " processes at once; allowed: up to " +
                       std::to_string(kMostTogether) + ", or some of them on a virtual card",
                   "--rank distinct --device virtual:h100-80gb");
}

}  // namespace

std::vector<int64_t> parse_rank_list(const std::string& flag, const std::string& typed,
                                     int64_t world_size) {
  std::vector<int64_t> ranks;
  size_t at = 0;
  while (at <= typed.size()) {
    const size_t end = std::min(typed.find(',', at), typed.size());
    const std::string part = typed.substr(at, end - at);
    const size_t dash = part.find('-', 1);
    const int64_t first = parse_integer(flag, part.substr(0, dash), 0, world_size - 1);
    int64_t last = first;
    if (dash != std::string::npos) {
      last = parse_integer(flag, part.substr(dash + 1), first, world_size - 1);
    }
    for (int64_t rank = first; rank <= last; ++rank) ranks.push_back(rank);
    at = end + 1;
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

Flag rank_flag() {
  return {.name = "rank",
          .value = "LIST",
          .help =
              "ranks of --mesh to run; on a virtual card also some of them, each alone:\n0,63 or "
              "0-7 for example, or distinct, one of each kind (default all)",
          .group = to_string(FieldGroup::kMeasurement),
          .example = kRankExample};
}

RankChoice rank_choice_from(const Arguments& arguments, const RunSpec& spec) {
  const std::string text = arguments.get("rank", "all");
  if (!arguments.has("rank") && spec.mesh.ranks() == 1) return {};
  if (spec.mesh.ranks() == 1) {
    throw UsageError("--rank", text, "needs a mesh, and this run has none; allowed with --mesh",
                     kRankExample);
  }
  if (text == "all") {
    check_together(spec);
    return {};
  }
  if (!is_virtual(spec)) {
    throw UsageError("--rank", text,
                     "leaves out ranks whose values the others need on " + to_string(spec.device) +
                         "; allowed there: all",
                     "--rank " + text + " --device virtual:h100-80gb");
  }
  if (!spec.save_weights.empty()) {
    throw UsageError("--rank", text,
                     "leaves ranks out, and --save-weights needs all of them; allowed with it: all",
                     "--rank all");
  }
  if (text == "distinct") return {.kind = RankChoice::Kind::kDistinct, .ranks = {}};
  return {.kind = RankChoice::Kind::kListed,
          .ranks = parse_rank_list("--rank", text, spec.mesh.ranks())};
}

}  // namespace headroom
