#include "train/parallel/ranks/agreement.h"

#include <c10/util/Exception.h>

#include "text/json_line.h"
#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

using nlohmann::json;

// Keys of the store.
constexpr const char* kFirstSays = "rank 0 says";
constexpr const char* kHeard = "ranks that have heard it";
constexpr const char* kAllHeard = "all have heard it";
constexpr const char* kDiffering = "ranks that differ";
constexpr const char* kTold = "ranks that know who differs";
constexpr const char* kAllTold = "all know who differs";

std::string key_of_rank(int64_t rank) { return "rank " + std::to_string(rank) + " has come"; }
std::string key_of_difference(int64_t index) { return "differs/" + std::to_string(index); }

std::string in_words(const std::string& value) { return value.empty() ? "nothing" : value; }

// The value after a round trip through the store.
std::string as_told(const std::string& value) { return json::parse(json_line(value)); }

// A line about the first setting in which this rank and rank 0 differ; "" if none.
std::string difference(int64_t rank, const std::vector<AgreedSetting>& own, const json& first) {
  const auto line = [&](const std::string& what, const std::string& here,
                        const std::string& there) {
    return "rank " + std::to_string(rank) + " differs from rank 0 in " + what + ": " +
           in_words(here) + " against " + in_words(there) +
           "; start all ranks by the same program with the same flags (example: "
           "scripts/launch.sh)";
  };
  for (const AgreedSetting& one : own) {
    const std::string there = first.value(one.what, "");
    if (there != as_told(one.value)) return line(one.what, one.value, there);
  }
  if (first.size() > own.size()) return line("its settings", "fewer of them", "more");
  return "";
}

// Up to kMost ranks that have not come.
std::string absent(c10d::Store& store, int64_t ranks) {
  constexpr size_t kMost = 8;
  std::vector<std::string> names;
  for (int64_t rank = 0; rank < ranks && names.size() < kMost; ++rank) {
    if (!store.check({key_of_rank(rank)})) names.push_back(std::to_string(rank));
  }
  return join(names);
}

// Waits for `key`. The store's own error names keys; this one names ranks.
void wait_for(c10d::Store& store, const char* key, int64_t ranks,
              std::chrono::milliseconds patience) {
  try {
    store.wait({key}, patience);
  } catch (const c10::DistStoreError&) {
    const std::string missing = absent(store, ranks);
    TORCH_CHECK(missing.empty(), "no answer from rank ", missing, " in ", patience.count(),
                " ms: not started, or it cannot reach the store of rank 0");
    throw;
  }
}

}  // namespace

std::vector<AgreedSetting> said_by(const RunSpec& spec) {
  std::vector<AgreedSetting> said;
  for (const Field& field : fields()) {
    if (!field.is_file()) said.push_back({field.flag(), field.get(spec)});
  }
  return said;
}

void agree(c10d::Store& store, int64_t rank, int64_t ranks, const std::vector<AgreedSetting>& own,
           std::chrono::milliseconds patience) {
  const bool is_second = store.add(key_of_rank(rank), 1) > 1;
  if (rank == 0) {
    json all = json::object();
    for (const AgreedSetting& one : own) all[one.what] = one.value;
    store.set(kFirstSays, json_line(all));
  }
  wait_for(store, kFirstSays, ranks, patience);
  std::string differs = difference(rank, own, json::parse(store.get_to_str(kFirstSays)));
  if (is_second) differs = "two processes were started as rank " + std::to_string(rank);
  if (!differs.empty()) {
    store.set(key_of_difference(store.add(kDiffering, 1)), differs);
  }
  if (store.add(kHeard, 1) == ranks) store.set(kAllHeard, "yes");
  wait_for(store, kAllHeard, ranks, patience);
  if (store.add(kDiffering, 0) == 0) return;
  const std::string line = "--mesh: " + store.get_to_str(key_of_difference(1));
  // Rank 0 may host the store, which ends with it.
  if (store.add(kTold, 1) == ranks) store.set(kAllTold, "yes");
  if (rank == 0) wait_for(store, kAllTold, ranks, patience);
  throw UsageError(line);
}

}  // namespace headroom
