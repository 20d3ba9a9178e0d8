#include "bench/sweep/remembered_cells.h"

#include "bench/process/interrupt.h"

namespace headroom {

RememberedCells::RememberedCells(const CellOptions& options, const std::string& records_path,
                                 const std::function<void(const std::string& line)>& on_talk)
    : options_(options), identity_(cell_identity(options)) {
  if (records_path.empty()) return;
  log_ = std::make_unique<RecordLog>(records_path, on_talk);
  earlier_ = std::make_unique<EarlierRows>(log_->earlier());
}

Record RememberedCells::get(const RunSpec& spec) {
  const nlohmann::json conditions = result_conditions(spec);
  const std::string key = result_key(spec, identity_, conditions);
  const Record* old = earlier_ ? earlier_->find(key, spec, options_.host_memory_bytes) : nullptr;
  if (old != nullptr) {
    ++reused_;
    return *old;
  }
  Record record = run_cell(spec, options_);
  if (interrupted()) return record;
  ++ran_;
  record.environment["key"] = key;
  record.environment["conditions"] = conditions;
  record.environment["identity"] = identity_;
  if (log_) log_->append(record);
  return record;
}

}  // namespace headroom
