#include <algorithm>

#include "plan/fit/answers/report.h"
#include "text/quantity.h"
#include "text/svg.h"

namespace headroom {
namespace {

constexpr double kLeft = 90;
constexpr double kTop = 60;
constexpr double kHeight = 320;
constexpr double kColumn = 70;
constexpr double kBar = 26;
constexpr double kLine = 19;
constexpr const char* kFits = "#0072b2";
constexpr const char* kBeyond = "#e69f00";

// Two bars: the answer's memory on the card, and the memory one step beyond it.
std::string column(const FitFound& found, const FitAnswer& answer, double x, double scale) {
  const double bottom = kTop + kHeight;
  std::string text;
  const auto bar = [&](double left, int64_t bytes, const char* colour, const std::string& name) {
    const double height = static_cast<double>(bytes) * scale;
    text += svg_rectangle(left, bottom - height, kBar, height, colour,
                          name + ": " + format_bytes(bytes));
  };
  const int64_t context = found.card.context_bytes;
  const FullestCard card = fullest_card(found, *answer.verdict.record);
  bar(x, card.peak + card.beside, kFits, answer.set.in_words());
  if (answer.beyond) {
    bar(x + kBar + 2, answer.beyond->need + context, kBeyond, answer.beyond->what);
  }
  return text;
}

std::string line_of(const FitAnswer& answer, size_t number) {
  const std::string value = answer.value > 0 ? " (" + std::to_string(answer.value) + ")" : "";
  return std::to_string(number) + value + ": " + answer.set.in_words();
}

// The width of the columns or of the longest line below them.
double width_of(const std::vector<FitAnswer>& answers) {
  constexpr double kCharacter = 7;  // at 13 px, slightly above the average
  double width = std::max(kColumn * static_cast<double>(answers.size()), 600.0);
  for (size_t i = 0; i < answers.size(); ++i) {
    width = std::max(width, kCharacter * static_cast<double>(line_of(answers[i], i + 1).size()));
  }
  return width;
}

int64_t highest(const FitFound& found) {
  int64_t most = found.card.total_bytes;
  for (const FitAnswer& answer : found.result.answers) {
    if (answer.beyond) most = std::max(most, answer.beyond->need + found.card.context_bytes);
  }
  return most;
}

}  // namespace

std::string fit_svg(const FitFound& found) {
  const auto& answers = found.result.answers;
  const auto count = static_cast<double>(answers.size());
  const double width = width_of(answers);
  const double bottom = kTop + kHeight + 60 + kLine * (count + 1);
  const double scale = kHeight / static_cast<double>(highest(found));
  const std::string title = title_of(found);
  std::string text = svg_head(kLeft + width + 30, bottom, title) +
                     svg_label(kLeft, 30, "start", title + ", peaks with the CUDA context");
  for (size_t i = 0; i < answers.size(); ++i) {
    const double x = kLeft + kColumn * static_cast<double>(i) + 8;
    text += column(found, answers[i], x, scale);
    text += svg_label(x + kBar, kTop + kHeight + 18, "middle", std::to_string(i + 1));
    text += svg_label(kLeft, kTop + kHeight + 50 + kLine * static_cast<double>(i), "start",
                      line_of(answers[i], i + 1));
  }
  for (int quarter = 0; quarter <= 4; ++quarter) {
    text += svg_label(kLeft - 8, kTop + kHeight * (4 - quarter) / 4 + 4, "end",
                      format_bytes(highest(found) / 4 * quarter));
  }
  const double limit = kTop + kHeight - static_cast<double>(found.card.total_bytes) * scale;
  text += svg_dashed_line(kLeft, limit, kLeft + width, limit);
  text += svg_label(kLeft + width, limit - 5, "end",
                    found.card.name + ": " + format_bytes(found.card.total_bytes));
  const double legend = kTop + kHeight + 50 + kLine * count;
  text += svg_rectangle(kLeft, legend - 11, 12, 12, kFits, "fits") +
          svg_label(kLeft + 17, legend, "start", "fits; costlier from left to right") +
          svg_rectangle(kLeft + 260, legend - 11, 12, 12, kBeyond, "one step beyond") +
          svg_label(kLeft + 277, legend, "start", "one step beyond, by theory: does not fit");
  return text + "</svg>\n";
}

}  // namespace headroom
