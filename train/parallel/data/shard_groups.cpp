#include "train/parallel/data/shard_groups.h"

namespace headroom {

ShardGroups::ShardGroups(const Mesh& mesh, int64_t size)
    : mesh_(mesh), size_(size == 0 ? mesh.size(MeshAxis::kData) : size) {}

std::vector<int64_t> ShardGroups::sharers(int64_t rank) const {
  std::vector<int64_t> ranks;
  for (int64_t place = 0; place < size_; ++place) {
    ranks.push_back(mesh_.neighbour(rank, MeshAxis::kData, group(rank) * size_ + place));
  }
  return ranks;
}

std::vector<int64_t> ShardGroups::copies(int64_t rank) const {
  std::vector<int64_t> ranks;
  for (int64_t place = part(rank); place < mesh_.size(MeshAxis::kData); place += size_) {
    ranks.push_back(mesh_.neighbour(rank, MeshAxis::kData, place));
  }
  return ranks;
}

}  // namespace headroom
