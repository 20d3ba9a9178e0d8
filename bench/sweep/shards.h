// Splits a grid among several jobs or machines. No torch here.
//
// Note [Shards]
// Rationale: a Slurm job array runs the parts of a grid concurrently. When their files are joined,
// a part that was lost or that ran twice must be detected.
// Approach: shard K of N takes every N-th cell, beginning with the K-th, so that small and large
// cells are spread evenly. Each Record holds its place in the grid
// (environment.cell.shard: part, of, number, cells), and a shard's first cell lists the names of
// the whole grid. gaps_in() reads these.
// Limits: without any first cell of a grid, missing cells have numbers and no names. Two grids
// with the same numbers of shards and cells are not distinguished.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "profiling/record/record.h"
#include "train/settings/spec.h"

namespace headroom {

struct Shard {
  size_t part = 1;  // from 1
  size_t of = 1;
};

// "2/8". Throws UsageError.
Shard parse_shard(const std::string& flag, const std::string& text);

struct ShardCells {
  std::vector<RunSpec> specs;
  std::vector<nlohmann::json> marks;  // their Records' places in the grid, one each
};
ShardCells cells_of(const Shard& shard, const std::vector<RunSpec>& grid);

// The gaps of files that are read together, one line each: cells of a sharded grid without a
// Record, and cells with a Record in two files. `names` are those of `files`.
std::vector<std::string> gaps_in(const std::vector<std::vector<Record>>& files,
                                 const std::vector<std::string>& names);

}  // namespace headroom
