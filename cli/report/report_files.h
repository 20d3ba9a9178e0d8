// The files that a report is made of. No torch here.
#pragma once

#include <string>
#include <vector>

namespace headroom {

struct ReportFiles {
  std::vector<std::string> snapshots;
  std::vector<std::string> records;
  std::vector<std::string> fits;  // documents of `headroom fit --format json`
};

// Sorts the paths by content: Records are lines of JSON, everything else is taken for a snapshot. A
// folder stands for its .pickle and .jsonl files and its documents of `headroom fit`, by name.
// Throws UsageError on a folder without any, and on a name of no file.
ReportFiles report_files(const std::vector<std::string>& paths);

// Their names without folders: "step.pickle".
std::vector<std::string> names_of(const ReportFiles& files);

}  // namespace headroom
