#include "train/offload/disk/places.h"

#include <map>
#include <set>
#include <string>

#include "train/offload/disk/run_identity.h"
#include "train/offload/disk/scratch_file.h"
#include "train/offload/disk/state_directory.h"

namespace headroom {

void check_disk_places(const std::vector<RunSpec>& specs) {
  std::map<std::string, std::vector<std::string>> of_states;  // identities of runs by directory
  std::set<std::string> of_weights;
  for (const RunSpec& spec : specs) {
    if (spec.optimizer_offload.space == MemorySpace::kDisk) {
      std::vector<std::string>& runs = of_states[spec.optimizer_offload.directory];
      if (!is_virtual(spec)) runs.push_back(run_identity(spec));  // virtual runs only count states
    }
    if (spec.param_offload.space == MemorySpace::kDisk) {
      of_weights.insert(spec.param_offload.directory);
    }
  }
  for (const auto& [directory, runs] : of_states) StateDirectory::check(directory, runs);
  for (const std::string& directory : of_weights) ScratchFile::check(directory);
}

}  // namespace headroom
