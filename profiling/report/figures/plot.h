// A frame with two axes, and the marks in it, as SVG text. No torch here.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "text/svg.h"

namespace headroom {

// Colours that colour-blind readers can tell apart (Okabe and Ito); black is the frame's.
// From number 7 on the colours begin again, and lines are dashed.
const char* plot_colour(size_t number);
bool is_plot_dashed(size_t number);

class Plot {
 public:
  // Both axes begin at 0. The names stand beside the axes.
  Plot(std::string title, std::string x_name, std::string y_name, double most_x, double most_y);

  // Ticks, by their value and text.
  void add_x_ticks(const std::vector<std::pair<double, std::string>>& ticks);
  void add_byte_ticks_y();
  void add_byte_ticks_x();
  void add_number_ticks_y();
  void add_number_ticks_x();

  void add_dot(double x, double y, const char* colour, const std::string& tip);
  void add_path(const std::vector<SvgPoint>& points, const char* colour, bool dashed);
  void add_area(const std::vector<SvgPoint>& points, const char* colour, const std::string& tip);
  void add_upright(double x);  // a line from the bottom to the top
  void add_cross_at_top(double x, const char* colour, const std::string& tip);
  void add_text(double x, double y, const std::string& text);  // beside the point, after all dots
  void add_key(const char* colour, bool dashed, const std::string& text);  // one line of the legend

  std::string svg() const;

 private:
  double to_x(double x) const;
  double to_y(double y) const;
  std::vector<SvgPoint> places_of(const std::vector<SvgPoint>& points) const;

  struct Box {
    double left = 0, top = 0, right = 0, bottom = 0;  // pixels
  };

  std::string title_;
  std::string x_name_, y_name_;
  double most_x_, most_y_;
  std::string marks_;
  std::vector<Box> taken_;  // by dots and texts
  std::vector<std::string> keys_;
  size_t longest_key_ = 0;  // characters
};

// Four to six round steps of bytes that reach `most`.
std::vector<double> byte_steps(double most);

}  // namespace headroom
