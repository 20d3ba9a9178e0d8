#include "profiling/report/page/page.h"

#include "profiling/report/page/deflated.h"
#include "profiling/report/page/web_files.h"
#include "text/svg.h"

namespace headroom {
namespace {

void append_data(std::string& html, const std::string& id, std::string_view bytes) {
  html +=
      "<script type=\"text/plain\" id=\"" + id + "\">" + base64(deflated(bytes)) + "</script>\n";
}

std::string data_elements(const ReportPage& page) {
  std::string html;
  for (size_t i = 0; i < page.snapshots.size(); ++i) {
    const SnapshotView& view = page.snapshots[i];
    const std::string id = "snapshot-" + std::to_string(i);
    append_data(html, id, view.json);
    for (size_t device = 0; device < view.devices.size(); ++device) {
      append_data(html, id + "-" + std::to_string(device), view.devices[device].packed);
    }
  }
  return html;
}

std::string script_elements() {
  std::string html;
  for (const std::string_view script : web_scripts()) {
    html += "<script>\n";
    html += script;
    html += "</script>\n";
  }
  return html;
}

}  // namespace

std::string to_html(const ReportPage& page) {
  // The skeleton's places in their order; each is a comment of its own.
  std::string html;
  std::string_view rest = web_page();
  const auto fill = [&](std::string_view place, const std::string& text) {
    const size_t at = rest.find(place);
    html += rest.substr(0, at);
    html += text;
    rest.remove_prefix(at + place.size());
  };
  fill("<!--title-->", html_escaped(page.title));
  fill("<!--styles-->",
       "<style>\n" + std::string(web_chart_style()) + "\n" + std::string(web_style()) + "</style>");
  fill("<!--heading-->", html_escaped(page.title));
  fill("<!--tables-->", page.tables);
  fill("<!--licence-->", html_escaped(web_chart_licence()));
  fill("<!--data-->", data_elements(page));
  fill("<!--scripts-->", script_elements());
  html += rest;
  return html;
}

}  // namespace headroom
