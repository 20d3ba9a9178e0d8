#include "bench/sweep/resume.h"

#include <sys/stat.h>

#include <algorithm>

#include "text/json_line.h"

namespace headroom {
namespace {

bool exists(const std::string& path) {
  struct stat status {};
  return stat(path.c_str(), &status) == 0;
}

// False if the host now has more memory, which may suffice. With 5 % tolerance, because available
// memory fluctuates. A virtual card does not depend on the host.
bool would_run_out_again(const Record& old, int64_t host_memory_bytes) {
  const bool on_card = old.out_of_memory && old.out_of_memory->memory == "device";
  if (is_virtual(old.spec) && on_card) return true;
  const int64_t had = old.environment.value("/cell/host_memory_bytes"_json_pointer, int64_t{0});
  return had == 0 || (host_memory_bytes != 0 &&
                      static_cast<double>(host_memory_bytes) <= static_cast<double>(had) * 1.05);
}

// Requires the same paths, and the same stacks and limits inside the snapshot.
bool has_the_files(const Record& old, const RunSpec& spec) {
  if (spec.snapshot.empty() && spec.save_weights.empty()) return true;
  for (const Field& field : fields()) {
    // Compared as in a Record's JSON: the name of a file may not be UTF-8.
    if (!field.changes_result && json_line(field.get(old.spec)) != json_line(field.get(spec))) {
      return false;
    }
  }
  const bool has_weights =
      spec.save_weights.empty() || old.status == Status::kOom || exists(spec.save_weights);
  return (spec.snapshot.empty() || exists(spec.snapshot)) && has_weights;
}

bool answers(const Record& old, const RunSpec& spec, int64_t host_memory_bytes) {
  if (old.status == Status::kOom && !would_run_out_again(old, host_memory_bytes)) return false;
  if (old.status != Status::kOk && old.status != Status::kOom) return false;
  return has_the_files(old, spec);
}

}  // namespace

EarlierRows::EarlierRows(const std::vector<Record>& records) {
  for (const Record& record : records) {
    if (!record.environment.is_object()) continue;
    const auto key = record.environment.find("key");
    if (key != record.environment.end() && key->is_string()) {
      by_key_[key->get<std::string>()].push_back(&record);
    }
  }
}

const Record* EarlierRows::find(const std::string& key, const RunSpec& spec,
                                int64_t host_memory_bytes) const {
  const auto found = by_key_.find(key);
  if (found == by_key_.end()) return nullptr;
  const auto& rows = found->second;
  const auto newest = std::find_if(rows.rbegin(), rows.rend(), [&](const Record* old) {
    return answers(*old, spec, host_memory_bytes);
  });
  return newest == rows.rend() ? nullptr : *newest;
}

}  // namespace headroom
