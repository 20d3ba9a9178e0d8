#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "plan/rlhf/timeline.h"
#include "text/quantity.h"
#include "text/svg.h"

namespace headroom {
namespace {

constexpr double kLeft = 90;
constexpr double kTop = 60;
constexpr double kHeight = 320;
constexpr double kPhase = 190;
constexpr double kSwap = 40;
// Distinguishable with red-green colour blindness (Okabe and Ito 2008).
constexpr std::array<const char*, kComponentKinds> kColours = {
    "#0072b2", "#cc79a7", "#d55e00", "#009e73", "#e69f00", "#56b4e9", "#999999"};

double pixels_of(const TimelineStretch& stretch) { return stretch.is_phase ? kPhase : kSwap; }

// One kind's memory through a stretch: the band between the kinds below it and its own top.
std::string band(const TimelineStretch& stretch, size_t kind, double x, double scale) {
  const double width = pixels_of(stretch) / static_cast<double>(stretch.instants.size());
  std::vector<SvgPoint> top, bottom;
  int64_t most = 0;
  for (size_t i = 0; i < stretch.instants.size(); ++i) {
    const KindBytes& instant = stretch.instants[i];
    const int64_t below = std::accumulate(
        instant.begin(), instant.begin() + static_cast<std::ptrdiff_t>(kind), int64_t{0});
    const int64_t bytes = instant.at(kind);
    most = std::max(most, bytes);
    const double low = kTop + kHeight - static_cast<double>(below) * scale;
    const double high = kTop + kHeight - static_cast<double>(below + bytes) * scale;
    for (const size_t edge : {i, i + 1}) {
      top.push_back({x + static_cast<double>(edge) * width, high});
      bottom.push_back({x + static_cast<double>(edge) * width, low});
    }
  }
  if (most == 0) return "";
  top.insert(top.end(), bottom.rbegin(), bottom.rend());
  return svg_area(
      top, kColours.at(kind),
      stretch.name + ": " + to_string(static_cast<ComponentKind>(kind)) + " " + format_bytes(most));
}

std::string stack(const TimelineStretch& stretch, double x, double scale) {
  std::string text;
  for (size_t kind = 0; kind < kComponentKinds; ++kind) text += band(stretch, kind, x, scale);
  if (stretch.level) {
    const double y = kTop + kHeight - static_cast<double>(*stretch.level) * scale;
    text += svg_line(x, y, x + pixels_of(stretch), y);
  }
  if (!stretch.is_phase) return text;
  const double middle = x + pixels_of(stretch) / 2;
  return text + svg_label(middle, kTop + kHeight + 20, "middle", stretch.name) +
         svg_label(middle, kTop + kHeight + 38, "middle", format_bytes(stretch.total()));
}

std::string legend(const Timeline& timeline, double top) {
  std::string text;
  double x = kLeft;
  for (size_t kind = 0; kind < kComponentKinds; ++kind) {
    if (!timeline.has(kind)) continue;
    const std::string name = to_string(static_cast<ComponentKind>(kind));
    text += svg_rectangle(x, top, 12, 12, kColours.at(kind), name) +
            svg_label(x + 17, top + 11, "start", name);
    x += 30 + 7.5 * static_cast<double>(name.size());
  }
  if (!timeline.level.empty()) {
    text += svg_line(x, top + 6, x + 12, top + 6) +
            svg_label(x + 17, top + 11, "start", timeline.level);
  }
  return text;
}

}  // namespace

std::string svg(const Timeline& timeline, const std::string& title) {
  double width = 0;
  for (const TimelineStretch& stretch : timeline.stretches) width += pixels_of(stretch);
  width = std::max(width, 600.0);
  const double all = kLeft + width + 30;
  const double bottom = kTop + kHeight + 85;
  const double scale = kHeight / static_cast<double>(std::max<int64_t>(timeline.highest(), 1));
  std::string text = svg_head(all, bottom, title) + svg_label(kLeft, 30, "start", title);
  double x = kLeft;
  for (const TimelineStretch& stretch : timeline.stretches) {
    text += stack(stretch, x, scale);
    x += pixels_of(stretch);
  }
  for (int quarter = 0; quarter <= 4; ++quarter) {
    const double y = kTop + kHeight * (4 - quarter) / 4;
    text += svg_label(kLeft - 8, y + 4, "end", format_bytes(timeline.highest() / 4 * quarter));
  }
  if (timeline.available > 0) {
    const double limit = kTop + kHeight - static_cast<double>(timeline.available) * scale;
    text +=
        svg_dashed_line(kLeft, limit, kLeft + width, limit) +
        svg_label(kLeft + width, limit - 5, "end", "one GPU: " + format_bytes(timeline.available));
  }
  return text + legend(timeline, kTop + kHeight + 58) + "</svg>\n";
}

}  // namespace headroom
