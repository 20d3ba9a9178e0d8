// One grid, run in parts by several jobs or machines. No torch here.
//
// Note [Shards]
// Rationale: a Slurm job array runs the parts of a grid beside each other. Whoever puts their
// files together must see a part that was lost or that ran twice.
// Approach: shard K of N takes every N-th cell, beginning with the K-th, so that small and large
// cells are spread evenly. Each Record says which cell of the grid it is
// (environment.cell.shard: part, of, number, cells), and a shard's first cell lists the names of
// the whole grid. gaps_in() reads these.
// Limits: where no first cell of a grid is there, missing cells have numbers and no names. Two
// grids with the same numbers of shards and cells are taken for one.
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
  std::vector<nlohmann::json> marks;  // what their Records say of the grid, one each
};
ShardCells cells_of(const Shard& shard, const std::vector<RunSpec>& grid);

// The gaps of files that are read together, one line each: cells of a sharded grid without a
// Record, and cells with a Record in two files. `files` and `names` go together.
std::vector<std::string> gaps_in(const std::vector<std::vector<Record>>& files,
                                 const std::vector<std::string>& names);

}  // namespace headroom
