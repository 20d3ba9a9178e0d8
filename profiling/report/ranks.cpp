#include "profiling/report/ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "profiling/moved.h"
#include "profiling/report/rows/cells.h"

namespace headroom {
namespace {

// "pp 0, dp 1, tp 0": of the axes that the mesh has.
std::string place_in_words(const Mesh& mesh, int64_t rank) {
  std::string words;
  for (const MeshAxis axis : kMeshAxes) {
    if (mesh.size(axis) == 1) continue;
    if (!words.empty()) words += ", ";
    words += to_string(axis) + " " + std::to_string(mesh.place(rank, axis));
  }
  return words;
}

Table peaks_table(const Record& record) {
  Table table{.title = "Ranks of " + to_string(record.spec.mesh),
              .notes = {"The other tables are the fullest rank's; losses are the replicas' mean."},
              .columns = {{"rank", true}, {"stands at"}, {"status"}}};
  const bool some_stand_for_others =
      std::any_of(record.ranks.begin(), record.ranks.end(),
                  [](const RankFigures& one) { return !one.alike.empty(); });
  if (some_stand_for_others) table.columns.push_back({"the same for ranks"});
  for (const char* name : {"allocated", "reserved", "requested"}) add_bytes_columns(table, name);
  const bool some_are_predicted =
      std::any_of(record.ranks.begin(), record.ranks.end(),
                  [](const RankFigures& one) { return one.predicted_bytes > 0; });
  if (some_are_predicted) add_bytes_columns(table, "by theory");
  for (const RankFigures& one : record.ranks) {
    std::vector<std::string> row = {std::to_string(one.rank),
                                    place_in_words(record.spec.mesh, one.rank),
                                    to_string(one.status)};
    if (some_stand_for_others) row.push_back(one.alike);
    add_bytes_cells(row, one.peak.allocated);
    add_bytes_cells(row, one.peak.reserved);
    add_bytes_cells(row, one.peak.requested);
    if (some_are_predicted) add_bytes_cells(row, one.predicted_bytes);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// Of the rank that moves most of each.
Table moved_table(const Record& record) {
  Table table{.title = "Moved between ranks in a step",
              .notes = {"By one rank, the one that has most of it: the whole of what is added up, "
                        "gathered or scattered, each time."},
              .columns = {{"axis"}, {"what"}, {"calls", true}}};
  add_bytes_columns(table, "moved");
  std::map<std::string, std::pair<int64_t, int64_t>> most;  // bytes, and in how many calls
  for (const RankFigures& one : record.ranks) {
    const MovedParts moved = parts_of(one.moved);
    for (const auto& [kind, bytes] : moved.bytes) {
      const auto calls = moved.calls.find(kind.text());
      auto& highest = most[kind.text()];
      highest = std::max(highest, {bytes, calls == moved.calls.end() ? 0 : calls->second});
    }
  }
  for (const auto& [kind, moved] : most) {
    const size_t space = kind.find(' ');
    table.rows.push_back({kind.substr(0, space), kind.substr(space + 1),
                          moved.second > 0 ? std::to_string(moved.second) : ""});
    add_bytes_cells(table.rows.back(), moved.first);
  }
  return table;
}

}  // namespace

std::vector<Table> rank_tables(const Record& record) {
  if (record.ranks.empty()) return {};
  std::vector<Table> tables = {peaks_table(record)};
  Table moved = moved_table(record);
  if (!moved.rows.empty()) tables.push_back(std::move(moved));
  return tables;
}

}  // namespace headroom
