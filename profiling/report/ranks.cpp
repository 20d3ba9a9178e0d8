#include "profiling/report/ranks.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "profiling/report/rows/cells.h"

namespace headroom {
namespace {

// "pp 0, dp 1, tp 0": axes of more than one rank.
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
  const bool some_have_nccl =
      std::any_of(record.ranks.begin(), record.ranks.end(),
                  [](const RankFigures& one) { return one.nccl_bytes > 0; });
  if (some_have_nccl) {
    add_bytes_columns(table, "NCCL, assumed");
    table.notes.emplace_back(
        "NCCL's buffers lie beside the allocator's: docs/programs/distributed.md.");
  }
  for (const RankFigures& one : record.ranks) {
    std::vector<std::string> row = {std::to_string(one.rank),
                                    place_in_words(record.spec.mesh, one.rank),
                                    to_string(one.status)};
    if (some_stand_for_others) row.push_back(one.alike);
    add_bytes_cells(row, one.peak.allocated);
    add_bytes_cells(row, one.peak.reserved);
    add_bytes_cells(row, one.peak.requested);
    if (some_are_predicted) add_bytes_cells(row, one.predicted_bytes);
    if (some_have_nccl) add_bytes_cells(row, one.nccl_bytes);
    table.rows.push_back(std::move(row));
  }
  return table;
}

// The highest figure of any rank, by kind.
std::map<std::string, int64_t> most_of(const Record& record, Named<int64_t> RankFigures::*moved) {
  std::map<std::string, int64_t> most;
  for (const RankFigures& one : record.ranks) {
    for (const auto& [kind, bytes] : one.*moved) {
      int64_t& highest = most[kind.text()];
      highest = std::max(highest, bytes);
    }
  }
  return most;
}

// Each figure is that of the rank with most of it.
Table moved_table(const Record& record) {
  Table table{.title = "Moved between ranks in a step",
              .notes = {"Figures of the rank with the most traffic: each call counts the whole "
                        "tensor that is reduced, gathered or scattered."},
              .columns = {{"axis"}, {"collective"}, {"calls", true}}};
  add_bytes_columns(table, "moved");
  const std::map<std::string, int64_t> most = most_of(record, &RankFigures::moved);
  const std::map<std::string, int64_t> calls = most_of(record, &RankFigures::moved_calls);
  const std::map<std::string, int64_t> predicted = most_of(record, &RankFigures::predicted_moved);
  if (!predicted.empty()) add_bytes_columns(table, "by theory");
  for (const auto& [kind, bytes] : most) {
    const size_t space = kind.rfind(' ');  // "dp copies all_reduce"
    const auto called = calls.find(kind);
    table.rows.push_back({kind.substr(0, space), kind.substr(space + 1),
                          called == calls.end() ? "" : std::to_string(called->second)});
    add_bytes_cells(table.rows.back(), bytes);
    if (predicted.empty()) continue;
    const auto found = predicted.find(kind);
    add_bytes_cells(table.rows.back(), found == predicted.end() ? 0 : found->second);
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
