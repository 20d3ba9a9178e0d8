#include "plan/fit/answers/drawing.h"

#include <algorithm>
#include <cstdint>
#include <vector>

#include "plan/fit/sets/technique_sets.h"
#include "profiling/report/rows/cells.h"
#include "text/quantity.h"
#include "text/svg.h"

namespace headroom {
namespace {

using nlohmann::ordered_json;

constexpr double kLeft = 90;
constexpr double kTop = 60;
constexpr double kHeight = 320;
constexpr double kColumn = 70;
constexpr double kBar = 26;
constexpr double kLine = 19;
constexpr const char* kFits = "#0072b2";
constexpr const char* kBeyond = "#e69f00";

// One answer, with the memory outside the allocator.
struct Bars {
  std::string line;  // below the bars
  std::string set;
  int64_t bytes = 0;
  std::string beyond;  // "" without a next larger setting
  int64_t beyond_bytes = 0;
};

std::string set_of(const ordered_json& answer) {
  TechniqueSet set{.names = answer.at("names").get<std::vector<std::string>>()};
  if (answer.contains("mesh")) set.mesh = answer["mesh"].at("in_words");
  return set.in_words();
}

// The batch or the context that was searched.
std::string value_of(const ordered_json& document, const ordered_json& answer) {
  const std::string question = document.at("question");
  if (question == "set") return "";
  return " (" + std::to_string(answer.at(question).get<int64_t>()) + ")";
}

std::vector<Bars> bars_of(const ordered_json& document) {
  const int64_t context = document.at("card").at("context_bytes");
  std::vector<Bars> bars;
  for (const ordered_json& answer : document.at("answers")) {
    const std::string set = set_of(answer);
    Bars one{.line = std::to_string(bars.size() + 1) + value_of(document, answer) + ": " + set,
             .set = set,
             .bytes = answer.at("peak_allocated_bytes").get<int64_t>() +
                      answer.value("context_and_nccl_bytes", context)};
    if (const ordered_json& beyond = answer.at("beyond"); !beyond.is_null()) {
      one.beyond = beyond.at("what");
      one.beyond_bytes = beyond.at("predicted_bytes").get<int64_t>() + context;
    }
    bars.push_back(std::move(one));
  }
  return bars;
}

// The width of the columns or of the longest line below them.
double width_of(const std::vector<Bars>& answers) {
  constexpr double kCharacter = 7;  // at 13 px, slightly above the average
  double width = std::max(kColumn * static_cast<double>(answers.size()), 600.0);
  for (const Bars& one : answers) {
    width = std::max(width, kCharacter * static_cast<double>(one.line.size()));
  }
  return width;
}

std::string bar(double left, int64_t bytes, double scale, const char* colour,
                const std::string& name) {
  const double height = static_cast<double>(bytes) * scale;
  return svg_rectangle(left, kTop + kHeight - height, kBar, height, colour,
                       name + ": " + format_bytes(bytes));
}

// Two bars and a line of words for each answer.
std::string draw_answers(const std::vector<Bars>& answers, double scale) {
  std::string text;
  for (size_t i = 0; i < answers.size(); ++i) {
    const Bars& one = answers[i];
    const double x = kLeft + kColumn * static_cast<double>(i) + 8;
    text += bar(x, one.bytes, scale, kFits, one.set);
    if (!one.beyond.empty())
      text += bar(x + kBar + 2, one.beyond_bytes, scale, kBeyond, one.beyond);
    text += svg_label(x + kBar, kTop + kHeight + 18, "middle", std::to_string(i + 1));
    text +=
        svg_label(kLeft, kTop + kHeight + 50 + kLine * static_cast<double>(i), "start", one.line);
  }
  return text;
}

std::string draw_legend(double y) {
  return svg_rectangle(kLeft, y - 11, 12, 12, kFits, "fits") +
         svg_label(kLeft + 17, y, "start", "fits; costlier from left to right") +
         svg_rectangle(kLeft + 260, y - 11, 12, 12, kBeyond, "one step beyond") +
         svg_label(kLeft + 277, y, "start", "one step beyond, by theory: does not fit");
}

}  // namespace

bool is_fit_document(const ordered_json& document) {
  return document.is_object() && document.contains("cost_order") && document.contains("answers");
}

std::string fit_title(const ordered_json& asked, const std::string& card) {
  const auto number = [&](const char* key) { return std::to_string(asked.at(key).get<int64_t>()); };
  const std::string gpus = asked.contains("gpus") ? number("gpus") + " x " : "";
  const std::string on = asked.at("model_size").get<std::string>() + " on " + gpus + card;
  const bool is_global = asked.contains("global_batch_size");
  if (!is_global && asked.at("batch_size").is_null()) {
    return "Largest batch: " + on + ", context " + number("context_length");
  }
  const std::string batch = is_global ? ", global batch " + number("global_batch_size")
                                      : ", batch " + number("batch_size");
  if (asked.at("context_length").is_null()) return "Largest context: " + on + batch;
  return "Cheapest sets that fit: " + on + batch + ", context " + number("context_length");
}

std::string fit_title(const ordered_json& document) {
  return fit_title(document.at("asked"), document.at("card").at("name").get<std::string>());
}

std::string fit_svg(const ordered_json& document) {
  const std::vector<Bars> answers = bars_of(document);
  const auto count = static_cast<double>(answers.size());
  const int64_t total = document.at("card").at("total_bytes");
  int64_t highest = total;
  for (const Bars& one : answers) highest = std::max(highest, one.beyond_bytes);
  const double width = width_of(answers);
  const double scale = kHeight / static_cast<double>(highest);
  const std::string title = fit_title(document);
  std::string text =
      svg_head(kLeft + width + 30, kTop + kHeight + 60 + kLine * (count + 1), title) +
      svg_label(kLeft, 30, "start", title + ", peaks with the CUDA context") +
      draw_answers(answers, scale);
  for (int quarter = 0; quarter <= 4; ++quarter) {
    text += svg_label(kLeft - 8, kTop + kHeight * (4 - quarter) / 4 + 4, "end",
                      format_bytes(highest / 4 * quarter));
  }
  const double limit = kTop + kHeight - static_cast<double>(total) * scale;
  text += svg_dashed_line(kLeft, limit, kLeft + width, limit);
  text += svg_label(kLeft + width, limit - 5, "end",
                    document["card"]["name"].get<std::string>() + ": " + format_bytes(total));
  return text + draw_legend(kTop + kHeight + 50 + kLine * count) + "</svg>\n";
}

Table fit_table(const ordered_json& document) {
  Table table{.title = fit_title(document), .columns = {{"", true}, {"set of techniques"}}};
  add_bytes_columns(table, "peak");
  add_bytes_columns(table, "margin");
  table.columns.push_back({"command"});
  const std::vector<Bars> bars = bars_of(document);
  for (size_t i = 0; i < bars.size(); ++i) {
    const ordered_json& answer = document.at("answers").at(i);
    std::vector<std::string> cells = {std::to_string(i + 1), bars[i].set};
    add_bytes_cells(cells, answer.at("peak_allocated_bytes").get<int64_t>());
    add_bytes_cells(cells, answer.value("margin_bytes", int64_t{0}));
    cells.push_back(answer.at("command"));
    table.rows.push_back(std::move(cells));
  }
  if (bars.empty()) table.notes.emplace_back("NOTHING FITS.");
  return table;
}

}  // namespace headroom
