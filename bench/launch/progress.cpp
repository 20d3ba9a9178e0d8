#include "bench/launch/progress.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "bench/process/line_splitter.h"

namespace headroom {

using nlohmann::json;

std::string to_line(const Progress& progress) {
  const json object = {{"device", progress.device},
                       {"stage", progress.stage},
                       {"step", progress.step},
                       {"steps", progress.steps}};
  return std::string(kProgressMark) + object.dump(-1, ' ', true, json::error_handler_t::replace);
}

std::optional<Progress> progress_of(const std::string& line) {
  if (!line.starts_with(kProgressMark)) return std::nullopt;
  const json object = json::parse(line.substr(kProgressMark.size()), nullptr, false);
  if (!object.is_object()) return std::nullopt;
  try {
    return Progress{.device = object.value("device", ""),
                    .stage = object.value("stage", ""),
                    .step = object.value("step", int64_t{0}),
                    .steps = object.value("steps", int64_t{0})};
  } catch (const json::exception&) {
    return std::nullopt;
  }
}

std::optional<double> seconds_left(const Progress& progress, double since_first) {
  if (progress.step < 2 || progress.steps < progress.step) return std::nullopt;
  const auto done = static_cast<double>(progress.step - 1);
  return since_first / done * (static_cast<double>(progress.steps) - done);
}

std::string eta_text(double seconds) {
  const auto whole = static_cast<int64_t>(std::ceil(seconds));
  if (whole < 120) return std::to_string(whole) + " s";
  const int64_t minutes = (whole + 59) / 60;
  if (minutes < 120) return std::to_string(minutes) + " min";
  return std::to_string(minutes / 60) + " h " + std::to_string(minutes % 60) + " min";
}

}  // namespace headroom
