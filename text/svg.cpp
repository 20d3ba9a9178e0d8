#include "text/svg.h"

#include <array>
#include <cstdio>

namespace headroom {
namespace {

std::string line(double x1, double y1, double x2, double y2, const char* dashes) {
  return "<line x1=\"" + svg_number(x1) + "\" y1=\"" + svg_number(y1) + "\" x2=\"" +
         svg_number(x2) + "\" y2=\"" + svg_number(y2) +
         "\" stroke=\"#000000\" stroke-width=\"1.5\"" + dashes + "/>\n";
}

}  // namespace

std::string html_escaped(std::string_view text) {
  std::string safe;
  for (const char c : text) {
    switch (c) {
      case '<':
        safe += "&lt;";
        break;
      case '>':
        safe += "&gt;";
        break;
      case '&':
        safe += "&amp;";
        break;
      case '"':
        safe += "&quot;";
        break;
      default:
        safe += c;
    }
  }
  return safe;
}

std::string svg_escaped(std::string_view text) {
  std::string safe = html_escaped(text);
  // XML 1.0 has no other control characters, not even escaped.
  for (char& c : safe) {
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  }
  return safe;
}

std::string svg_number(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

std::string svg_rectangle(double x, double y, double width, double height, const char* colour,
                          const std::string& tip) {
  return "<rect x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" width=\"" +
         svg_number(width) + "\" height=\"" + svg_number(height) + "\" fill=\"" + colour +
         "\"><title>" + svg_escaped(tip) + "</title></rect>\n";
}

std::string svg_label(double x, double y, const char* anchor, const std::string& text) {
  return "<text x=\"" + svg_number(x) + "\" y=\"" + svg_number(y) + "\" text-anchor=\"" + anchor +
         "\">" + svg_escaped(text) + "</text>\n";
}

std::string svg_line(double x1, double y1, double x2, double y2) {
  return line(x1, y1, x2, y2, "");
}

std::string svg_dashed_line(double x1, double y1, double x2, double y2) {
  return line(x1, y1, x2, y2, " stroke-dasharray=\"6 4\"");
}

std::string svg_area(const std::vector<SvgPoint>& points, const char* colour,
                     const std::string& tip) {
  std::string text = "<polygon points=\"";
  for (const SvgPoint& point : points)
    text += svg_number(point.x) + "," + svg_number(point.y) + " ";
  if (!points.empty()) text.pop_back();
  return text + "\" fill=\"" + colour + "\"><title>" + svg_escaped(tip) + "</title></polygon>\n";
}

std::string svg_path(const std::vector<SvgPoint>& points, const char* colour, bool dashed) {
  if (points.size() < 2) return "";
  std::string text = "<polyline points=\"";
  for (const SvgPoint& point : points)
    text += svg_number(point.x) + "," + svg_number(point.y) + " ";
  text.pop_back();
  return text + "\" fill=\"none\" stroke=\"" + colour + "\" stroke-width=\"2\"" +
         (dashed ? " stroke-dasharray=\"6 4\"" : "") + "/>\n";
}

std::string svg_dot(double x, double y, const char* colour, const std::string& tip) {
  return "<circle cx=\"" + svg_number(x) + "\" cy=\"" + svg_number(y) + "\" r=\"4\" fill=\"" +
         colour + "\"><title>" + svg_escaped(tip) + "</title></circle>\n";
}

std::string svg_head(double width, double height, const std::string& title) {
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + svg_number(width) + " " +
         svg_number(height) + "\" width=\"" + svg_number(width) + "\" height=\"" +
         svg_number(height) +
         "\" font-family=\"sans-serif\" font-size=\"13\" role=\"img\">\n<title>" +
         svg_escaped(title) + "</title>\n" + svg_rectangle(0, 0, width, height, "#ffffff", title);
}

}  // namespace headroom
