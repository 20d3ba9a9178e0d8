#include "train/resume/check_places.h"

#include "train/resume/checkpoint_directory.h"
#include "train/resume/checkpoint_index.h"
#include "train/resume/rules.h"

namespace headroom {

void check_checkpoint_places(const RunSpec& spec) {
  check_checkpoints(spec);
  if (!spec.load_checkpoint.empty()) {
    const std::string checkpoint = newest_checkpoint(spec.load_checkpoint);
    check_same_run(checkpoint, read_index(checkpoint), spec);
  }
  if (!spec.save_checkpoint.empty()) {
    const CheckpointDirectory probe(spec.save_checkpoint, spec.load_checkpoint);
  }
}

}  // namespace headroom
