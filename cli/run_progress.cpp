#include "cli/run_progress.h"

#include "cli/log.h"

namespace headroom {

std::string RunProgress::text_of(const Progress& progress) const {
  std::string text = name_ + " on " + progress.device + ": ";
  if (progress.step == 0) return text + progress.stage;
  text += "step " + std::to_string(progress.step) + " of " + std::to_string(progress.steps) + " (" +
          progress.stage + ")";
  const double since_first = std::chrono::duration<double>(Clock::now() - first_step_).count();
  if (const auto left = seconds_left(progress, since_first)) text += ", ETA " + eta_text(*left);
  return text;
}

void RunProgress::operator()(const Progress& progress) {
  constexpr std::chrono::seconds kOften{10};
  constexpr std::chrono::seconds kSoon{1};
  const auto now = Clock::now();
  if (progress.step > 0 && first_step_ == Clock::time_point{}) first_step_ = now;
  if (shows_status()) return log_status(text_of(progress));
  const bool is_first = said_ == Clock::time_point{};
  // Writing is the last stage, and a snapshot of many steps takes as long as the steps.
  const auto least = progress.stage == "writing" ? kSoon : kOften;
  if (!is_first && now - said_ < least) return;
  said_ = now;
  log_line(is_first
               ? name_ + " on " + progress.device + ": " + std::to_string(progress.steps) + " steps"
               : text_of(progress));
}

}  // namespace headroom
