#include "cli/report/report_fits.h"

#include <cstdint>
#include <filesystem>

#include "files/whole_file.h"
#include "plan/fit/answers/drawing.h"
#include "profiling/report/page/records_html.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr int64_t kMostFitBytes = int64_t{64} << 20;

nlohmann::ordered_json fit_at(const std::string& path) {
  return nlohmann::ordered_json::parse(read_whole_file(path, kMostFitBytes), nullptr, false);
}

}  // namespace

bool holds_fit(const std::string& path) {
  std::error_code error;
  if (!path.ends_with(".json") || !std::filesystem::is_regular_file(path, error)) return false;
  return is_fit_document(fit_at(path));
}

std::string fits_html(const std::vector<std::string>& paths) {
  std::string html;
  for (const std::string& path : paths) {
    try {
      const nlohmann::ordered_json document = fit_at(path);
      const Table table = fit_table(document);
      if (!table.rows.empty()) {
        const Figure figure{.title = table.title, .svg = fit_svg(document)};
        html += to_html(figure, [](const Record&) { return std::string(); });
      }
      html += to_html(table);
    } catch (const nlohmann::json::exception& error) {
      throw UsageError("report: '" + path +
                       "' lacks a part of a document of headroom fit: " + error.what());
    }
  }
  return html.empty() ? "" : "<h2>What fits</h2>\n" + html;
}

}  // namespace headroom
