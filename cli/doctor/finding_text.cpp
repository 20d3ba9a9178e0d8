#include "cli/doctor/finding_text.h"

#include <algorithm>

#include "text/table.h"
#include "text/wrap.h"

namespace headroom {
namespace {

using State = Finding::State;

std::string word_of_state(State state) {
  switch (state) {
    case State::kOk:
      return "ok";
    case State::kNote:
      return "note";
    case State::kMissing:
      return "missing";
    case State::kBroken:
      return "broken";
  }
  return "";
}

// One table per area, in the order of the findings.
std::vector<Table> tables_of_areas(const Findings& findings) {
  std::vector<Table> tables;
  for (const Finding& finding : findings) {
    if (tables.empty() || tables.back().title != finding.area) {
      tables.push_back({.title = finding.area, .columns = {{"check"}, {"state"}, {"found"}}});
    }
    tables.back().rows.push_back({finding.name, word_of_state(finding.state), finding.found});
  }
  return tables;
}

bool is_fault(const Finding& finding) {
  return finding.state == State::kMissing || finding.state == State::kBroken;
}

std::string repair_text(const Finding& finding, size_t width) {
  const std::string verb = finding.state == State::kMissing ? ": needed for " : ": ";
  return fitted(finding.name + verb + finding.effect + "\n", width) +
         (finding.repair.empty() ? "" : "  " + finding.repair + "\n");
}

}  // namespace

bool is_usable(const Findings& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.needed_by_all && is_fault(finding);
  });
}

std::string to_text(const Findings& findings, size_t width) {
  std::string text = to_string(tables_of_areas(findings), TableFormat::kText, width);
  std::string faults;
  std::string notes;
  for (const Finding& finding : findings) {
    if (is_fault(finding)) faults += repair_text(finding, width);
    if (finding.state == State::kNote) notes += repair_text(finding, width);
  }
  if (!faults.empty()) {
    text += "\nMissing or broken, each with the command that repairs it\n" + faults;
  }
  if (!notes.empty()) text += "\nNotes: these change or limit figures\n" + notes;
  return text;
}

nlohmann::ordered_json to_json(const Findings& findings) {
  nlohmann::ordered_json checks = nlohmann::ordered_json::array();
  const auto text_or_null = [](const std::string& text) {
    return text.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(text);
  };
  for (const Finding& finding : findings) {
    checks.push_back({{"area", finding.area},
                      {"check", finding.name},
                      {"state", word_of_state(finding.state)},
                      {"found", finding.found},
                      {"effect", text_or_null(finding.effect)},
                      {"repair", text_or_null(finding.repair)},
                      {"figures", finding.figures}});
  }
  return {{"schema_version", 1}, {"usable", is_usable(findings)}, {"checks", checks}};
}

}  // namespace headroom
