#include "plan/fit/questions/cells_ahead.h"

#include <system_error>
#include <utility>

#include "bench/process/interrupt.h"

namespace headroom {

CellsAhead::CellsAhead(Run run, size_t at_once) : run_(std::move(run)) {
  try {
    while (threads_.size() < at_once) threads_.emplace_back([this] { work(); });
  } catch (const std::system_error&) {
    // No more threads available: the existing ones do the work, or get() itself.
  }
}

CellsAhead::~CellsAhead() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  news_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void CellsAhead::prefetch(const std::vector<RunSpec>& specs) {
  {
    const std::lock_guard lock(mutex_);
    prefetched_.clear();
    for (const RunSpec& spec : specs) {
      if (begun_.count(row_name(spec)) == 0) prefetched_.push_back(spec);
    }
  }
  news_.notify_all();
}

RememberedCell CellsAhead::get(const RunSpec& spec) {
  const std::string name = row_name(spec);
  std::unique_lock lock(mutex_);
  if (begun_.count(name) == 0) {
    asked_.push_back(spec);
    if (threads_.empty()) run_next(lock);
    news_.notify_all();
  }
  news_.wait(lock, [&] { return begun_.count(name) > 0 && begun_.at(name).ended(); });
  const Begun& begun = begun_.at(name);
  if (begun.error) std::rethrow_exception(begun.error);
  return *begun.cell;
}

void CellsAhead::work() {
  leave_signals_to_other_threads();
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [this] { return ends_ || !asked_.empty() || !prefetched_.empty(); });
    if (ends_) return;
    run_next(lock);
  }
}

void CellsAhead::run_next(std::unique_lock<std::mutex>& lock) {
  std::deque<RunSpec>& from = asked_.empty() ? prefetched_ : asked_;
  const RunSpec spec = from.front();
  from.pop_front();
  const auto [place, is_new] = begun_.try_emplace(row_name(spec));
  if (!is_new) return;
  Begun& begun = place->second;  // a map's references stay valid
  lock.unlock();
  Begun ended;
  try {
    ended.cell = run_(spec);
  } catch (...) {
    ended.error = std::current_exception();
  }
  lock.lock();
  begun = std::move(ended);
  news_.notify_all();
}

}  // namespace headroom
