#include "bench/dryrun/ranks.h"

#include <algorithm>
#include <map>
#include <vector>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

// The highest peak of all its devices; -1 without the stand-in's report.
int64_t taken(const ordered_json& process) {
  int64_t most = -1;
  for (const ordered_json& device : process["devices"]) {
    most = std::max(most, device.value("peak_bytes", int64_t{-1}));
  }
  return most;
}

}  // namespace

bool has_ranks(const ordered_json& document) {
  const ordered_json& processes = document["processes"];
  return std::any_of(processes.begin(), processes.end(),
                     [](const ordered_json& process) { return process.contains("rank"); });
}

std::string rank_cell(const ordered_json& process) {
  return process.contains("rank") ? std::to_string(process["rank"].get<int64_t>()) : "";
}

std::string rank_name(const ordered_json& process) { return "rank " + rank_cell(process); }

std::string fullest_rank_line(const ordered_json& document) {
  const ordered_json* fullest = nullptr;
  int ranks = 0;
  for (const ordered_json& process : document["processes"]) {
    if (!process.contains("rank") || taken(process) < 0) continue;
    ++ranks;
    if (fullest == nullptr || taken(process) > taken(*fullest)) fullest = &process;
  }
  if (ranks < 2) return "";
  const int64_t room = document["total_bytes"].get<int64_t>() -
                       document["context_bytes"].get<int64_t>() - taken(*fullest);
  return "fullest: " + rank_name(*fullest) + ", " + format_bytes(taken(*fullest)) + ", leaves " +
         format_bytes(room) + " of its card\n";
}

int64_t nccl_bytes(const ordered_json& process) {
  int64_t bytes = 0;
  for (const ordered_json& device : process["devices"]) {
    bytes += device.value("peak_nccl_bytes", int64_t{0});
  }
  return bytes;
}

std::string collectives_line(const std::string& who, const ordered_json& process) {
  const ordered_json communicators = process.value("communicators", ordered_json::array());
  if (communicators.empty()) return "";
  struct Sum {
    int64_t calls = 0;
    int64_t bytes = 0;
  };
  std::map<std::string, Sum> sums;
  for (const ordered_json& communicator : communicators) {
    for (const ordered_json& collective : communicator["collectives"]) {
      Sum& sum = sums[collective["kind"].get<std::string>()];
      sum.calls += collective["calls"].get<int64_t>();
      sum.bytes += collective["bytes"].get<int64_t>();
    }
  }
  std::vector<std::string> words;
  for (const auto& [kind, sum] : sums) {
    words.push_back(grouped(sum.calls) + " " + kind + " of " + format_bytes(sum.bytes));
  }
  std::string text = who;
  if (process.contains("rank") && process.contains("world_size")) {
    text =
        rank_name(process) + " of " + std::to_string(process["world_size"].get<int64_t>()) + ": ";
  }
  return text + "NCCL, " + std::to_string(communicators.size()) +
         (communicators.size() == 1 ? " communicator: " : " communicators: ") +
         (words.empty() ? "no collectives" : join(words)) + "; takes " +
         format_bytes(nccl_bytes(process)) + " of the card itself, assumed\n";
}

bool has_nccl(const ordered_json& document) {
  const ordered_json& processes = document["processes"];
  return std::any_of(processes.begin(), processes.end(),
                     [](const ordered_json& process) { return nccl_bytes(process) > 0; });
}

}  // namespace headroom
