// The report: one HTML file that loads nothing. No torch here.
//
// Note [One file]
// Rationale: a report is mailed, handed in and opened years later, without a network.
// Approach: styles, scripts and data are elements of the page. A Content-Security-Policy forbids
//   every load, so a name from a snapshot cannot cause one either. Data is base64 (deflated.h), and
//   the scripts write names as text, never as HTML. The chart over time is drawn by dygraphs, from
//   Debian's libjs-dygraphs (MIT, docs/setup/licences.md): its licence is in the package, while the
//   copy of uPlot that PyPI has carries none. The page gives it a few thousand points, so its speed
//   is enough.
// Limits: without scripts only the tables and figures of Records are shown.
#pragma once

#include <string>
#include <vector>

#include "profiling/report/page/snapshot_view.h"

namespace headroom {

struct ReportPage {
  std::string title;
  std::vector<SnapshotView> snapshots;
  std::string tables;  // HTML: the tables and figures of Records
};

std::string to_html(const ReportPage& page);

}  // namespace headroom
