// The files of web/ and of dygraphs, embedded when the program is built. No torch here.
#pragma once

#include <string_view>
#include <vector>

namespace headroom {

std::string_view web_page();   // the skeleton, with places for the rest
std::string_view web_style();  // web/view/style.css

// Debian's dygraphs: the library, its style, and the package's file of copyrights and licence.
std::string_view web_chart_library();
std::string_view web_chart_style();
std::string_view web_chart_licence();

// web/data: numbers and names of a snapshot.
std::string_view web_bytes();
std::string_view web_columns();
std::string_view web_history();
std::string_view web_extremes();
std::string_view web_phases();
std::string_view web_groups();
std::string_view web_snapshot();
std::string_view web_timeline();

// web/view: elements of the page.
std::string_view web_live_tree();
std::string_view web_tree_view();
std::string_view web_colours();
std::string_view web_chart();
std::string_view web_addresses();
std::string_view web_tables();
std::string_view web_start();

// All scripts, each after those that it uses.
inline std::vector<std::string_view> web_scripts() {
  return {web_chart_library(), web_bytes(),     web_columns(),   web_history(),
          web_extremes(),      web_phases(),    web_groups(),    web_snapshot(),
          web_timeline(),      web_live_tree(), web_tree_view(), web_colours(),
          web_chart(),         web_addresses(), web_tables(),    web_start()};
}

}  // namespace headroom
