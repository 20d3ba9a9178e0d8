// What a checkpoint holds and where: its index, as model hubs have one, with the place of every
// piece in its tensor. No torch here.
//
// Note [Pieces of tensors]
// Rationale: no rank has the whole model, and none shall have to. Who goes on may have another mesh
//   and wants other parts of it; who only looks at it may be a reader of safetensors that knows
//   nothing of meshes.
// Approach: every writing rank has a safetensors file of what it owns: rectangles of tensors, named
//   as the tensor where it is the whole and like "layers.0.attn.q_proj.weight[16:32, 0:64]" where
//   it is a part; states of the optimizer as "optimizer.m." and the parameter's name. The header
//   says of each piece whose it is and where it lies. The index collects that: weight_map (piece:
//   file), as hubs have it, and tensors (name: dtype, shape, pieces). What is the same on every
//   rank is a number in its metadata: steps, updates, the scale of the loss. A reader puts a tensor
//   together by one assignment for each piece (studies/peers/checkpoint_file.py); a rank that goes
//   on maps the files that have some of what it wants, and reads that. Every piece has a sum of its
//   bytes, in its file and in the index, and the index has one of itself. A reader checks a whole
//   piece before it takes a part of it: that the disk has changed a bit is an error, never another
//   loss.
// Limits: states of 8 bits are of blocks of the tensors that ranks of tp have: they go on under the
//   same tp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/data/safetensors.h"
#include "train/resume/rectangle.h"
#include "train/spec.h"

namespace headroom {

// A piece, in a rank's file.
struct PieceName {
  std::string tensor;
  std::vector<int64_t> shape;  // of the whole tensor
  Rectangle place;
  uint64_t sum = 0;  // of its bytes: files/checksum.h

  std::string key() const;  // in the file
};

// What a file's header says of its pieces, text by name (train/data/safetensors.h).
std::map<std::string, std::string> metadata_of(const std::vector<PieceName>& pieces);

struct LossScale {
  double scale = 0;
  int64_t finite_steps = 0;  // in a row
};

struct CheckpointIndex {
  struct Piece {
    std::string key, file;
    Rectangle place;
    std::optional<uint64_t> sum;  // none of what an earlier version saved
  };
  struct Stored {
    std::string dtype;  // as safetensors has it
    std::vector<int64_t> shape;
    std::vector<Piece> pieces;
  };
  int64_t step = 0;     // steps done: the next one's data is that of this number
  int64_t updates = 0;  // fewer, where some were skipped
  std::optional<LossScale> loss_scale;
  std::map<std::string, std::string> model;  // dimensions, optimizer: what has to be the same
  std::map<std::string, std::string> run;    // what may differ, and is said then
  std::map<std::string, Stored> tensors;
  bool has_sums = true;
};

// An index of no tensors yet.
CheckpointIndex index_of_run(const RunSpec& spec);

// Adds what the file of that name in the directory holds. Throws UsageError where it cannot be
// read.
void add_file(const std::string& directory, const std::string& file, CheckpointIndex* index);

// Throws WriteError, one line; also where a piece of a parameter is missing.
void write_index(const std::string& directory, const CheckpointIndex& index);

// Of that file. Throws ReadError, and std::exception where it is none or is damaged.
CheckpointIndex index_in(const std::string& path);

// Throws UsageError, one line, which names an older checkpoint that is whole, where one is.
CheckpointIndex read_index(const std::string& checkpoint);

// Why a piece, as it lies in its file, is not what the index says: "is damaged: ..."; "" = it is.
std::string damage_of(const CheckpointIndex::Piece& piece, const CheckpointIndex::Stored& stored,
                      const SafetensorsFile& file);

// Throws UsageError, one line, on the checkpoint of another model or optimizer. Returns what else
// differs that a reader of the result should know.
std::vector<std::string> check_same_run(const std::string& checkpoint, const CheckpointIndex& index,
                                        const RunSpec& spec);

}  // namespace headroom
