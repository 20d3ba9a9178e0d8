#include "train/offload/disk/places.h"

#include <set>
#include <string>

#include "train/offload/disk/scratch_file.h"
#include "train/offload/disk/state_directory.h"

namespace headroom {

void check_disk_places(const std::vector<RunSpec>& specs) {
  std::set<std::string> of_states;
  std::set<std::string> of_weights;
  for (const RunSpec& spec : specs) {
    if (spec.optimizer_offload.space == MemorySpace::kDisk) {
      of_states.insert(spec.optimizer_offload.directory);
    }
    if (spec.param_offload.space == MemorySpace::kDisk) {
      of_weights.insert(spec.param_offload.directory);
    }
  }
  for (const std::string& directory : of_states) StateDirectory::check(directory);
  for (const std::string& directory : of_weights) ScratchFile::check(directory);
}

}  // namespace headroom
