#include "bench/sweep/lanes.h"

#include <algorithm>
#include <exception>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "bench/process/cores.h"
#include "bench/process/interrupt.h"

namespace headroom {
namespace {

void add(std::vector<Stage>& stages, Stage stage) {
  if (!stage.empty()) stages.push_back(std::move(stage));
}

// The cells of one stage, handed out to its threads.
class Handout {
 public:
  Handout(const std::function<void(size_t)>& run, const std::function<bool()>& stopped)
      : run_(run), stopped_(stopped) {}

  void work(const Lane& lane, size_t& next) {
    for (;;) {
      size_t cell = 0;
      {
        const std::lock_guard lock(mutex_);
        if (next == lane.cells.size() || error_ || stopped_()) return;
        cell = lane.cells[next++];
      }
      try {
        run_(cell);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!error_) error_ = std::current_exception();
      }
    }
  }

  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  const std::function<void(size_t)>& run_;
  const std::function<bool()>& stopped_;
  std::mutex mutex_;
  std::exception_ptr error_;
};

size_t threads_of(const Stage& stage) {
  size_t threads = 0;
  for (const Lane& lane : stage) threads += lane.at_once;
  return threads;
}

void run_stage(const Stage& stage, Handout& handout) {
  std::vector<size_t> next(stage.size(), 0);
  if (threads_of(stage) == 1) return handout.work(stage.front(), next.front());
  std::vector<std::jthread> threads;
  for (size_t i = 0; i < stage.size(); ++i) {
    for (size_t n = 0; n < stage[i].at_once; ++n) {
      threads.emplace_back([&handout, &lane = stage[i], &place = next[i]] {
        leave_signals_to_other_threads();
        handout.work(lane, place);
      });
    }
  }
}

}  // namespace

std::vector<Stage> plan_lanes(const std::vector<const RunSpec*>& cells, size_t jobs) {
  std::vector<Stage> stages;
  if (jobs == 1) {
    Lane all;
    for (size_t i = 0; i < cells.size(); ++i) all.cells.push_back(i);
    add(stages, {all});
    return stages;
  }
  Lane on_virtual_cards;
  std::map<std::string, Lane> on_cards;
  Lane alone{.at_once = std::max<size_t>(jobs, 1)};
  for (size_t i = 0; i < cells.size(); ++i) {
    const RunSpec& spec = *cells[i];
    const bool is_mesh = spec.mesh.ranks() > 1;
    const bool on_a_card = spec.device.kind == DeviceKind::kCuda && !is_mesh;
    Lane& lane = is_virtual(spec) && !is_mesh ? on_virtual_cards
                 : on_a_card                  ? on_cards[to_string(spec.device)]
                                              : alone;
    lane.cells.push_back(i);
  }
  const auto trimmed = [](Lane lane, size_t at_once) {
    lane.at_once = std::min(lane.cells.size(), at_once);
    return lane;
  };
  if (!on_virtual_cards.cells.empty()) {
    add(stages, {trimmed(on_virtual_cards, jobs > 0 ? jobs : cores())});
  }
  Stage of_cards;
  for (const auto& [name, lane] : on_cards) {
    of_cards.push_back(lane);
    if (of_cards.size() == jobs) add(stages, std::exchange(of_cards, {}));
  }
  add(stages, std::move(of_cards));
  if (!alone.cells.empty()) add(stages, {trimmed(alone, alone.at_once)});
  return stages;
}

size_t most_at_once(const std::vector<Stage>& stages) {
  size_t most = 1;
  for (const Stage& stage : stages) most = std::max(most, threads_of(stage));
  return most;
}

void run_stages(const std::vector<Stage>& stages, const std::function<void(size_t cell)>& run,
                const std::function<bool()>& stopped) {
  Handout handout(run, stopped);
  for (const Stage& stage : stages) run_stage(stage, handout);
  handout.rethrow();
}

}  // namespace headroom
