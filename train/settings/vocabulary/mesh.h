// A step's ranks: how many along each axis. No torch here.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "text/enum_words.h"

namespace headroom {

// The axes, outermost first: neighbouring ranks share matrices, whole stages are far apart.
//   pp  pipeline stages, each some layers
//   dp  replicas, each with its own sequences
//   tp  ranks that share every matrix (tensor parallelism)
enum class MeshAxis { kPipeline, kData, kTensor };
inline constexpr std::array<MeshAxis, 3> kMeshAxes = {MeshAxis::kPipeline, MeshAxis::kData,
                                                      MeshAxis::kTensor};
std::string to_string(MeshAxis axis);  // "pp"

struct Mesh {
  std::array<int64_t, kMeshAxes.size()> sizes = {1, 1, 1};  // by MeshAxis

  int64_t size(MeshAxis axis) const { return sizes.at(static_cast<size_t>(axis)); }
  int64_t ranks() const;
  // A rank's coordinate along an axis.
  int64_t place(int64_t rank, MeshAxis axis) const;
  // The rank with coordinate `place` along the axis, and `rank`'s coordinates along the others.
  int64_t neighbour(int64_t rank, MeshAxis axis, int64_t place) const;

  bool operator==(const Mesh&) const = default;
};
std::string to_string(const Mesh& mesh);  // "dp=2,tp=4", without axes of one; one rank: "none"

// kAlways: drops a block's parameters, gathered for its forward (ZeRO-3), after it.
enum class Reshard { kAlways, kNever };
inline const EnumWords<Reshard>& words_of(Reshard) {
  static const EnumWords<Reshard> kWords = {
      {Reshard::kAlways, "always", "gathered again for backward"},
      {Reshard::kNever, "never", "kept until backward no longer needs them"}};
  return kWords;
}

// Axes in any order, each once. Throws UsageError on any other text, and above 2^20 ranks.
Mesh parse_mesh(const std::string& flag, std::string_view typed);

}  // namespace headroom
