#include "bench/sweep/shards.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "text/quantity.h"

namespace headroom {
namespace {

using nlohmann::json;

// The marks of one grid, identified by its numbers of shards and cells.
struct MarkedGrid {
  std::set<size_t> there;  // numbers of cells, from 1
  std::vector<std::string> names;
};
using GridKey = std::pair<size_t, size_t>;  // shards, cells

void add_mark(const json& mark, std::map<GridKey, MarkedGrid>& grids) {
  const auto number = [&](const char* name) { return mark.value(name, size_t{0}); };
  MarkedGrid& grid = grids[{number("of"), number("cells")}];
  grid.there.insert(number("number"));
  if (mark.contains("grid")) grid.names = mark.at("grid").get<std::vector<std::string>>();
}

void say_missing(const GridKey& key, const MarkedGrid& grid, std::vector<std::string>& lines) {
  const auto [shards, cells] = key;
  for (size_t number = 1; number <= cells; ++number) {
    if (grid.there.contains(number)) continue;
    std::string line =
        "no Record of cell " + std::to_string(number) + " of " + std::to_string(cells);
    if (number <= grid.names.size()) line += ", " + grid.names[number - 1];
    const size_t part = (number - 1) % shards + 1;
    lines.push_back(line + " (--shard " + std::to_string(part) + "/" + std::to_string(shards) +
                    ")");
  }
}

}  // namespace

Shard parse_shard(const std::string& flag, const std::string& text) {
  const size_t slash = text.find('/');
  const std::string allowed = "is not K/N; allowed: 1/N to N/N";
  if (slash == std::string::npos) throw UsageError(flag, text, allowed, flag + " 1/4");
  constexpr int64_t kMost = 1000000;
  const int64_t of = parse_integer(flag, text.substr(slash + 1), 1, kMost);
  const int64_t part = parse_integer(flag, text.substr(0, slash), 1, kMost);
  if (part > of) throw UsageError(flag, text, allowed, flag + " 1/4");
  return {.part = static_cast<size_t>(part), .of = static_cast<size_t>(of)};
}

ShardCells cells_of(const Shard& shard, const std::vector<RunSpec>& grid) {
  ShardCells cells;
  for (size_t i = shard.part - 1; i < grid.size(); i += shard.of) {
    cells.specs.push_back(grid[i]);
    cells.marks.push_back(
        {{"part", shard.part}, {"of", shard.of}, {"number", i + 1}, {"cells", grid.size()}});
  }
  if (cells.marks.empty()) return cells;
  for (const RunSpec& spec : grid) cells.marks.front()["grid"].push_back(row_name(spec));
  return cells;
}

std::vector<std::string> gaps_in(const std::vector<std::vector<Record>>& files,
                                 const std::vector<std::string>& names) {
  std::map<GridKey, MarkedGrid> grids;
  std::map<std::string, size_t> file_of;  // by result key
  std::vector<std::string> lines;
  for (size_t i = 0; i < files.size(); ++i) {
    for (const Record& record : files[i]) {
      const json& environment = record.environment;
      const json cell = environment.value("cell", json::object());
      if (cell.contains("shard")) add_mark(cell.at("shard"), grids);
      const std::string key = environment.value("key", "");
      if (key.empty()) continue;
      const auto [known, is_new] = file_of.try_emplace(key, i);
      if (is_new || known->second == i) continue;
      lines.push_back(row_name(record.spec) + " is in " + names[known->second] + " and again in " +
                      names[i]);
    }
  }
  for (const auto& [key, grid] : grids) say_missing(key, grid, lines);
  return lines;
}

}  // namespace headroom
