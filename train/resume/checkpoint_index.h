// A checkpoint's index, as on model hubs, plus the place of every piece in its tensor.
// No torch here.
//
// Note [Pieces of tensors]
// Rationale: no rank has the whole model, and none should need it. A resumed run may have another
//   mesh and need other parts; a plain safetensors reader has no notion of meshes.
// Approach: every writing rank has a safetensors file of its own rectangles of tensors. A piece has
//   the tensor's name if it is the whole, or a name like "layers.0.attn.q_proj.weight[16:32, 0:64]"
//   if it is a part; optimizer states are "optimizer.m." plus the parameter's name. The header
//   gives each piece's tensor and place. The index collects that: weight_map (piece: file), as on
//   hubs, and tensors (name: dtype, shape, pieces). Numbers equal on all ranks are in its metadata:
//   steps, updates, the loss scale. A reader assembles a tensor with one assignment per piece
//   (studies/peers/checkpoint_file.py); a resuming rank maps only the files that it needs. Every
//   piece has a checksum, in its file and in the index, and the index has its own. A reader checks
//   a whole piece before it uses a part: a bit changed by the disk is an error, never another loss.
// Limits: 8-bit states have blocks per tp rank's tensor, so resuming needs the same tp.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "train/data/safetensors.h"
#include "train/resume/rectangle.h"
#include "train/settings/spec.h"

namespace headroom {

// A piece in a rank's file.
struct PieceName {
  std::string tensor;
  std::vector<int64_t> shape;  // of the whole tensor
  Rectangle place;
  uint64_t sum = 0;  // checksum of its bytes: files/checksum.h

  std::string key() const;  // in the file
};

// Metadata for a file's header, text by name (train/data/safetensors.h).
std::map<std::string, std::string> metadata_of(const std::vector<PieceName>& pieces);

struct LossScale {
  double scale = 0;
  int64_t finite_steps = 0;  // in a row
};

struct CheckpointIndex {
  struct Piece {
    std::string key, file;
    Rectangle place;
    std::optional<uint64_t> sum;  // none if an earlier version saved it
  };
  struct Stored {
    std::string dtype;  // safetensors' name
    std::vector<int64_t> shape;
    std::vector<Piece> pieces;
  };
  int64_t step = 0;     // steps done; also the number of the next step's data
  int64_t updates = 0;  // fewer if some were skipped
  std::optional<LossScale> loss_scale;
  std::map<std::string, std::string> model;  // dimensions, optimizer: must be equal
  std::map<std::string, std::string> run;    // may differ; differences are reported
  std::map<std::string, Stored> tensors;
  bool has_sums = true;
};

// An index without tensors.
CheckpointIndex index_of_run(const RunSpec& spec);

// Adds the pieces of that file in the directory. Throws UsageError if it cannot be read.
void add_file(const std::string& directory, const std::string& file, CheckpointIndex* index);

// Throws WriteError, one line; also if a piece of a parameter is missing.
void write_index(const std::string& directory, const CheckpointIndex& index);

// Reads that file. Throws ReadError, and std::exception if it is no index or is damaged.
CheckpointIndex index_in(const std::string& path);

// Throws UsageError, one line, which names an older whole checkpoint if there is one.
CheckpointIndex read_index(const std::string& checkpoint);

// The damage of a piece in its file, compared with the index: "is damaged: ..."; "" = none.
std::string damage_of(const CheckpointIndex::Piece& piece, const CheckpointIndex::Stored& stored,
                      const SafetensorsFile& file);

// Throws UsageError, one line, for a checkpoint of another model or optimizer. Returns the other
// differences worth reporting.
std::vector<std::string> check_same_run(const std::string& checkpoint, const CheckpointIndex& index,
                                        const RunSpec& spec);

}  // namespace headroom
