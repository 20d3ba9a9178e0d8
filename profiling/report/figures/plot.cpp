#include "profiling/report/figures/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "text/quantity.h"

namespace headroom {
namespace {

constexpr double kLeft = 92;
constexpr double kTop = 60;
constexpr double kWidth = 560;
constexpr double kHeight = 320;
constexpr double kBelow = 62;
constexpr double kKeyLine = 20;
constexpr double kCharacter = 7.3;  // at 13 px, slightly above the average

constexpr std::array<const char*, 7> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                 "#56b4e9", "#e69f00", "#b8ac2b"};

// Ticks at multiples of 1, 2 or 5 times a power of ten, at most six of them.
std::vector<std::pair<double, std::string>> number_ticks(double most) {
  constexpr double kMostSteps = 6;
  double step = std::pow(10, std::floor(std::log10(most / kMostSteps)));
  const double unit = step;
  for (const double factor : {2, 5, 10}) {
    if (step * kMostSteps < most) step = unit * factor;
  }
  const int decimals = std::max(0, -static_cast<int>(std::floor(std::log10(step) + 1e-9)));
  std::vector<std::pair<double, std::string>> ticks;
  for (int i = 0; i * step <= most * (1 + 1e-9); ++i) {
    ticks.emplace_back(i * step, number_text(i * step, decimals));
  }
  return ticks;
}

std::string key_mark(const char* colour, bool dashed, double y) {
  return svg_path({{kLeft + kWidth + 16, y - 4}, {kLeft + kWidth + 40, y - 4}}, colour, dashed) +
         svg_dot(kLeft + kWidth + 28, y - 4, colour, "");
}

}  // namespace

const char* plot_colour(size_t number) { return kColours[number % kColours.size()]; }

bool is_plot_dashed(size_t number) { return number >= kColours.size(); }

std::vector<double> byte_steps(double most) {
  double step = 1;
  while (step * 6 < most) step *= 2;
  std::vector<double> steps;
  for (double at = 0; at < most + step; at += step) steps.push_back(at);
  return steps;
}

Plot::Plot(std::string title, std::string x_name, std::string y_name, double most_x, double most_y)
    : title_(std::move(title)),
      x_name_(std::move(x_name)),
      y_name_(std::move(y_name)),
      most_x_(std::max(most_x, 1e-9)),
      most_y_(byte_steps(most_y).back()) {}

double Plot::to_x(double x) const { return kLeft + kWidth * x / most_x_; }
double Plot::to_y(double y) const { return kTop + kHeight * (1 - y / most_y_); }

std::vector<SvgPoint> Plot::places_of(const std::vector<SvgPoint>& points) const {
  std::vector<SvgPoint> places;
  places.reserve(points.size());
  for (const SvgPoint& point : points) places.push_back({to_x(point.x), to_y(point.y)});
  return places;
}

void Plot::add_x_ticks(const std::vector<std::pair<double, std::string>>& ticks) {
  double free_from = 0;
  for (const auto& [value, text] : ticks) {
    const double x = to_x(value);
    marks_ += svg_line(x, kTop + kHeight, x, kTop + kHeight + 5);
    const double half = kCharacter * static_cast<double>(text.size()) / 2;
    if (x - half < free_from) continue;  // texts must not overlap
    marks_ += svg_label(x, kTop + kHeight + 20, "middle", text);
    free_from = x + half + 4;
  }
}

void Plot::add_byte_ticks_y() {
  for (const double value : byte_steps(most_y_ * 0.999)) {
    marks_ += svg_line(kLeft - 5, to_y(value), kLeft, to_y(value));
    marks_ +=
        svg_label(kLeft - 8, to_y(value) + 4, "end", format_bytes(static_cast<int64_t>(value)));
  }
}

void Plot::add_byte_ticks_x() {
  std::vector<std::pair<double, std::string>> ticks;
  for (const double value : byte_steps(most_x_ * 0.999)) {
    if (value <= most_x_) ticks.emplace_back(value, format_bytes(static_cast<int64_t>(value)));
  }
  add_x_ticks(ticks);
}

void Plot::add_number_ticks_y() {
  for (const auto& [value, text] : number_ticks(most_y_)) {
    marks_ += svg_line(kLeft - 5, to_y(value), kLeft, to_y(value));
    marks_ += svg_label(kLeft - 8, to_y(value) + 4, "end", text);
  }
}

void Plot::add_number_ticks_x() { add_x_ticks(number_ticks(most_x_)); }

void Plot::add_dot(double x, double y, const char* colour, const std::string& tip) {
  marks_ += svg_dot(to_x(x), to_y(y), colour, tip);
  constexpr double kRadius = 5;
  taken_.push_back({to_x(x) - kRadius, to_y(y) - kRadius, to_x(x) + kRadius, to_y(y) + kRadius});
}

void Plot::add_path(const std::vector<SvgPoint>& points, const char* colour, bool dashed) {
  marks_ += svg_path(places_of(points), colour, dashed);
}

void Plot::add_area(const std::vector<SvgPoint>& points, const char* colour,
                    const std::string& tip) {
  marks_ += svg_area(places_of(points), colour, tip);
}

void Plot::add_upright(double x) {
  marks_ += svg_dashed_line(to_x(x), kTop, to_x(x), kTop + kHeight);
}

void Plot::add_cross_at_top(double x, const char* colour, const std::string& tip) {
  const double at = to_x(x);
  marks_ += "<g><title>" + svg_escaped(tip) + "</title>" +
            svg_path({{at - 5, kTop + 2}, {at + 5, kTop + 12}}, colour, false) +
            svg_path({{at - 5, kTop + 12}, {at + 5, kTop + 2}}, colour, false) + "</g>\n";
}

// At the place around the point where the text covers the fewest dots and texts.
void Plot::add_text(double x, double y, const std::string& text) {
  const double width = kCharacter * static_cast<double>(text.size());
  constexpr double kLetters = 10;  // their height
  Box best;
  size_t fewest = taken_.size() + 1;
  for (const double distance : {0.0, 10.0, 20.0}) {
    for (const auto& [right, down] :
         {std::pair(1, 0), {-1, 0}, {0, -1}, {0, 1}, {1, -1}, {-1, -1}, {1, 1}, {-1, 1}}) {
      const double middle_x = to_x(x) + right * (8 + width / 2 + distance);
      const double middle_y = to_y(y) + down * (11 + distance);
      const Box box{middle_x - width / 2, middle_y - kLetters / 2, middle_x + width / 2,
                    middle_y + kLetters / 2};
      const auto covered =
          static_cast<size_t>(std::count_if(taken_.begin(), taken_.end(), [&](const Box& other) {
            return box.left < other.right && other.left < box.right && box.top < other.bottom &&
                   other.top < box.bottom;
          }));
      if (covered < fewest) {
        fewest = covered;
        best = box;
      }
    }
  }
  taken_.push_back(best);
  marks_ += svg_label((best.left + best.right) / 2, best.bottom, "middle", text);
}

void Plot::add_key(const char* colour, bool dashed, const std::string& text) {
  const double y = kTop + 14 + kKeyLine * static_cast<double>(keys_.size());
  keys_.push_back(key_mark(colour, dashed, y) + svg_label(kLeft + kWidth + 48, y, "start", text));
  longest_key_ = std::max(longest_key_, text.size());
}

std::string Plot::svg() const {
  const double keys_width =
      keys_.empty() ? 24 : 56 + kCharacter * static_cast<double>(longest_key_);
  const double keys_height = 30 + kKeyLine * static_cast<double>(keys_.size());
  const double height = kTop + std::max(kHeight + kBelow, keys_height);
  std::string text = svg_head(kLeft + kWidth + keys_width, height, title_);
  text += svg_label(kLeft, 22, "start", title_);
  text += svg_label(8, kTop - 16, "start", y_name_);
  text += svg_label(kLeft + kWidth / 2, kTop + kHeight + 44, "middle", x_name_);
  text += svg_line(kLeft, kTop, kLeft, kTop + kHeight);
  text += svg_line(kLeft, kTop + kHeight, kLeft + kWidth, kTop + kHeight);
  text += marks_;
  for (const std::string& key : keys_) text += key;
  return text + "</svg>\n";
}

}  // namespace headroom
