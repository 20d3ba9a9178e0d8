#include "cli/report/report_files.h"

#include <algorithm>

#include "cli/report/report_fits.h"
#include "files/directory.h"
#include "profiling/snapshot/read.h"
#include "text/quantity.h"

namespace headroom {
namespace {

constexpr const char* kReportExample =
    " (example: headroom report step.pickle records.jsonl --output report.html)";

void add_file(const std::string& path, ReportFiles& files) {
  if (holds_fit(path)) return files.fits.push_back(path);
  (is_snapshot(path) ? files.snapshots : files.records).push_back(path);
}

void add_folder(const std::string& folder, ReportFiles& files) {
  std::vector<std::string> names = names_in(folder);
  std::sort(names.begin(), names.end());
  bool found = false;
  for (const std::string& name : names) {
    const std::string path = in_directory(folder, name);
    const bool is_data = name.ends_with(".pickle") || name.ends_with(".jsonl");
    if (is_directory(path) || !(is_data || holds_fit(path))) continue;
    add_file(path, files);
    found = true;
  }
  if (!found) {
    throw UsageError("report: '" + folder +
                     "' has no .pickle and no .jsonl file and no answer of headroom fit" +
                     kReportExample);
  }
}

}  // namespace

ReportFiles report_files(const std::vector<std::string>& paths) {
  if (paths.empty()) {
    throw UsageError(std::string("report: needs a snapshot, a Records file or a folder of them") +
                     kReportExample);
  }
  ReportFiles files;
  for (const std::string& path : paths) {
    if (is_directory(path)) {
      add_folder(path, files);
    } else {
      add_file(path, files);
    }
  }
  return files;
}

std::vector<std::string> names_of(const ReportFiles& files) {
  std::vector<std::string> names;
  for (const auto* paths : {&files.snapshots, &files.records, &files.fits}) {
    for (const std::string& path : *paths) names.push_back(path.substr(path.rfind('/') + 1));
  }
  return names;
}

}  // namespace headroom
