#include "train/settings/vocabulary/mesh.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "text/quantity.h"
#include "text/words.h"

namespace headroom {
namespace {

constexpr const char* kOneRank = "none";
constexpr int64_t kMostRanks = 1 << 20;

[[noreturn]] void refuse(const std::string& flag, std::string_view typed, const std::string& why) {
  throw UsageError(flag, typed, why + "; allowed: none, or sizes along axes of pp, dp, tp",
                   flag + " dp=2,tp=4");
}

int64_t size_along(const std::string& flag, const std::string& axis, std::string_view typed) {
  const std::string named = flag + " " + axis;
  try {
    return parse_integer(named, typed, 1, kMostRanks);
  } catch (const UsageError& error) {
    throw error.with_example(named + "=2");
  }
}

// Stride of ranks along the axis.
int64_t stride_of(const Mesh& mesh, MeshAxis axis) {
  int64_t stride = 1;
  for (size_t i = static_cast<size_t>(axis) + 1; i < mesh.sizes.size(); ++i) {
    stride *= mesh.sizes.at(i);
  }
  return stride;
}

}  // namespace

std::string to_string(MeshAxis axis) {
  if (axis == MeshAxis::kPipeline) return "pp";
  return axis == MeshAxis::kData ? "dp" : "tp";
}

int64_t Mesh::ranks() const {
  int64_t ranks = 1;
  for (const int64_t size : sizes) ranks *= size;
  return ranks;
}

int64_t Mesh::place(int64_t rank, MeshAxis axis) const {
  return rank / stride_of(*this, axis) % size(axis);
}

int64_t Mesh::neighbour(int64_t rank, MeshAxis axis, int64_t place_there) const {
  return rank + (place_there - place(rank, axis)) * stride_of(*this, axis);
}

std::string to_string(const Mesh& mesh) {
  std::vector<std::string> parts;
  for (const MeshAxis axis : kMeshAxes) {
    if (mesh.size(axis) > 1)
      parts.push_back(to_string(axis) + "=" + std::to_string(mesh.size(axis)));
  }
  return parts.empty() ? kOneRank : join(parts, ",");
}

Mesh parse_mesh(const std::string& flag, std::string_view typed) {
  Mesh mesh;
  if (typed == kOneRank) return mesh;
  std::array<bool, kMeshAxes.size()> said = {};
  for (std::string_view rest = typed;;) {
    const std::string_view part = rest.substr(0, rest.find(','));
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) refuse(flag, typed, "has a part without '='");
    const std::string name(part.substr(0, equals));
    const auto* const axis = std::find_if(kMeshAxes.begin(), kMeshAxes.end(),
                                          [&](MeshAxis one) { return to_string(one) == name; });
    if (axis == kMeshAxes.end()) refuse(flag, typed, "names the unknown axis '" + name + "'");
    const auto index = static_cast<size_t>(*axis);
    if (std::exchange(said.at(index), true)) refuse(flag, typed, "names " + name + " twice");
    mesh.sizes.at(index) = size_along(flag, name, part.substr(equals + 1));
    if (part.size() == rest.size()) break;
    rest.remove_prefix(part.size() + 1);
  }
  if (mesh.ranks() > kMostRanks) refuse(flag, typed, "has more than 1,048,576 ranks");
  return mesh;
}

}  // namespace headroom
