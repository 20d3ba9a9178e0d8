#include "profiling/report/peaks/breakdown.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <set>
#include <utility>
#include <vector>

#include "profiling/report/rows/cells.h"
#include "text/quantity.h"

namespace headroom {
namespace {

int64_t bytes_of(const Record& record, const std::string& category) {
  const auto it = record.categories_at_peak.find(category);
  return it == record.categories_at_peak.end() ? 0 : it->second;
}

// The categories whose name contains `word`: "optimizer state" for "optimizer".
int64_t bytes_about(const Record& record, const std::string& word) {
  int64_t bytes = 0;
  for (const auto& [name, size] : record.categories_at_peak) {
    if (name.text().find(word) != std::string::npos) bytes += size;
  }
  return bytes;
}

int64_t total_bytes(const Record& record) { return bytes_about(record, ""); }

// "parameters and optimizer state": the FP32 masters that are live at the peak.
std::string masters_in_words(const Record& record) {
  constexpr std::array<std::pair<const char*, const char*>, 3> kMasters = {
      {{"parameter", "parameters"}, {"gradient", "gradients"}, {"optimizer", "optimizer state"}}};
  std::vector<std::string> words;
  for (const auto& [word, name] : kMasters) {
    if (bytes_about(record, word) > 0) words.emplace_back(name);
  }
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " and " : ", ";
    text += words[i];
  }
  return text;
}

void explain_masters(const Record& fp32, const Record& autocast, std::vector<std::string>& notes) {
  const int64_t state = bytes_about(autocast, "optimizer");
  const int64_t masters =
      bytes_about(autocast, "parameter") + bytes_about(autocast, "gradient") + state;
  if (masters == 0) return;
  std::string text = masters_in_words(autocast);
  text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
  text += " stay in FP32 under autocast: " + format_bytes(masters) + ", as much as " +
          percent(masters, total_bytes(fp32)) + " of the FP32 peak, cannot shrink";
  if (state > 0) text += " (optimizer state alone " + format_bytes(state) + ")";
  notes.push_back(text + ".");
}

void explain_change(const Record& fp32, const Record& autocast, const std::string& word,
                    const std::string& name, const std::string& remark,
                    std::vector<std::string>& notes) {
  const int64_t from = bytes_about(fp32, word);
  const int64_t to = bytes_about(autocast, word);
  if (from == to) return;
  notes.push_back(name + " go from " + format_bytes(from) + " to " + format_bytes(to) + " (" +
                  signed_bytes(to - from) + ")" + remark);
}

void explain(const Record& fp32, const Record& autocast, std::vector<std::string>& notes) {
  if (fp32.categories_at_peak.empty() || autocast.categories_at_peak.empty()) {
    notes.emplace_back("No breakdown was recorded for both (--record-steps 0).");
    return;
  }
  const std::string name = upper_word(autocast.spec.precision);
  explain_masters(fp32, autocast, notes);
  if (const int64_t cast = bytes_about(autocast, "cast"); cast > 0) {
    notes.push_back("The cast cache, " + name + " copies of the weights, adds " +
                    format_bytes(cast) + " that FP32 does not have.");
  }
  explain_change(fp32, autocast, "activation", "Activations",
                 ": only those that autocast computes in " + name + " halve.", notes);
  explain_change(fp32, autocast, "temporar", "Temporaries", ".", notes);
  const int64_t from = total_bytes(fp32);
  const int64_t change = total_bytes(autocast) - from;
  notes.push_back("Together: " + name + " changes the peak by " + signed_bytes(change) + " (" +
                  signed_percent(change, from) + ").");
}

}  // namespace

std::string upper_word(Precision precision) {
  std::string text = to_string(precision);
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

Table breakdown_table(const Record& fp32, const Record& autocast) {
  const std::string name = upper_word(autocast.spec.precision);
  Table table{.title = "At the peak, FP32 and " + name + ": " + row_name(fp32.spec),
              .columns = {{"category"}}};
  for (const std::string& column : {std::string("FP32"), name, std::string("difference")}) {
    add_bytes_columns(table, column);
  }
  std::set<std::string> names;
  for (const Record* record : {&fp32, &autocast}) {
    for (const auto& category : record->categories_at_peak) names.insert(category.first);
  }
  std::vector<std::string> sorted(names.begin(), names.end());
  std::stable_sort(sorted.begin(), sorted.end(), [&](const auto& a, const auto& b) {
    return bytes_of(fp32, a) > bytes_of(fp32, b);
  });
  const auto add = [&](const std::string& category, int64_t before, int64_t after) {
    std::vector<std::string> row = {category};
    add_bytes_cells(row, before);
    add_bytes_cells(row, after);
    row.insert(row.end(), {signed_bytes(after - before), std::to_string(after - before)});
    table.rows.push_back(std::move(row));
  };
  for (const auto& category : sorted) {
    add(readable(category), bytes_of(fp32, category), bytes_of(autocast, category));
  }
  add("sum", total_bytes(fp32), total_bytes(autocast));
  explain(fp32, autocast, table.notes);
  return table;
}

}  // namespace headroom
