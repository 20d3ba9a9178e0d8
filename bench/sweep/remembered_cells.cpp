#include "bench/sweep/remembered_cells.h"

#include "bench/process/interrupt.h"

namespace headroom {
namespace {

// A run that succeeded without a limit, or with a higher one, does not prove this limit.
bool proves_limit(const Record& old, int64_t host_memory) {
  if (old.status != Status::kOk || host_memory == 0) return true;
  const int64_t had = old.environment.value("/cell/host_memory_bytes"_json_pointer, int64_t{0});
  return had != 0 && had <= host_memory;
}

}  // namespace

RememberedCells::RememberedCells(const CellOptions& options, const RunSpec& first,
                                 const std::string& records_path,
                                 const std::function<void(const std::string& line)>& on_talk)
    : options_(options), identity_(cell_identity(options, first)) {
  if (records_path.empty()) return;
  log_ = std::make_unique<RecordLog>(records_path, on_talk);
  earlier_ = std::make_unique<EarlierRows>(log_->earlier());
}

RememberedCell RememberedCells::get(const RunSpec& spec, const RankChoice& ranks) {
  const nlohmann::json conditions = result_conditions(spec);
  const std::string key = result_key(spec, identity_, conditions);
  const int64_t host_memory = host_memory_of(spec, options_);
  const Record* old = earlier_ ? earlier_->find(key, spec, host_memory) : nullptr;
  if (old != nullptr && (!is_virtual(spec) || proves_limit(*old, host_memory))) {
    const std::lock_guard lock(mutex_);
    ++reused_;
    return {.record = *old, .reused = true, .talk = {}};
  }
  RememberedCell cell;
  CellOptions options = options_;
  options.ranks = ranks;
  options.on_talk = [&cell](const std::string& line) { cell.talk.push_back(line); };
  cell.record = run_cell(spec, options);
  if (interrupted()) return cell;
  cell.record.environment["key"] = key;
  cell.record.environment["conditions"] = conditions;
  cell.record.environment["identity"] = identity_;
  const std::lock_guard lock(mutex_);
  if (log_) log_->append(cell.record);
  return cell;
}

}  // namespace headroom
