// Elements of an SVG drawing, as text. No torch here.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headroom {

// Text for an element or a quoted attribute of HTML.
std::string html_escaped(std::string_view text);

// The same for XML, which has no control characters: each becomes a space.
std::string svg_escaped(std::string_view text);

std::string svg_number(double value);  // one decimal

// tip: the viewer's tooltip.
std::string svg_rectangle(double x, double y, double width, double height, const char* colour,
                          const std::string& tip);

// anchor: "start", "middle", "end".
std::string svg_label(double x, double y, const char* anchor, const std::string& text);

std::string svg_line(double x1, double y1, double x2, double y2);
std::string svg_dashed_line(double x1, double y1, double x2, double y2);

struct SvgPoint {
  double x = 0, y = 0;
};
// A filled polygon.
std::string svg_area(const std::vector<SvgPoint>& points, const char* colour,
                     const std::string& tip);

// A line through the points; "" for fewer than two.
std::string svg_path(const std::vector<SvgPoint>& points, const char* colour, bool dashed);

std::string svg_dot(double x, double y, const char* colour, const std::string& tip);

// Begins a drawing on white with its title; end it with "</svg>\n".
std::string svg_head(double width, double height, const std::string& title);

}  // namespace headroom
