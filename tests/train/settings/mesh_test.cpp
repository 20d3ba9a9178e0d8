#include "train/settings/vocabulary/mesh.h"

#include <gtest/gtest.h>

#include <set>

#include "text/quantity.h"

namespace headroom {
namespace {

TEST(Mesh, IsReadInAnyOrderAndWrittenInOne) {
  EXPECT_EQ(to_string(parse_mesh("--mesh", "tp=4,dp=2")), "dp=2,tp=4");
  EXPECT_EQ(to_string(parse_mesh("--mesh", "pp=2,dp=1")), "pp=2");
  EXPECT_EQ(to_string(parse_mesh("--mesh", "none")), "none");
  EXPECT_EQ(parse_mesh("--mesh", "none").ranks(), 1);
}

TEST(Mesh, RefusesWhatIsNone) {
  for (const char* typed : {"", "dp", "dp=0", "dp=two", "dp=2,dp=2", "ep=2", "dp=2,", "dp=2tp=2",
                            "dp=1048577", "dp=4096,tp=4096"}) {
    EXPECT_THROW(parse_mesh("--mesh", typed), UsageError) << typed;
  }
}

TEST(Mesh, NeighbouringRanksShareMatrices) {
  const Mesh mesh = parse_mesh("--mesh", "pp=2,dp=3,tp=4");
  EXPECT_EQ(mesh.ranks(), 24);
  EXPECT_EQ(mesh.place(1, MeshAxis::kTensor), 1);
  EXPECT_EQ(mesh.place(4, MeshAxis::kData), 1);
  EXPECT_EQ(mesh.place(12, MeshAxis::kPipeline), 1);
}

TEST(Mesh, EveryRankIsSomewhereElse) {
  const Mesh mesh = parse_mesh("--mesh", "pp=2,dp=3,tp=4");
  std::set<std::array<int64_t, 3>> places;
  for (int64_t rank = 0; rank < mesh.ranks(); ++rank) {
    std::array<int64_t, 3> place{};
    for (size_t i = 0; i < place.size(); ++i) {
      place.at(i) = mesh.place(rank, kMeshAxes.at(i));
      EXPECT_EQ(mesh.neighbour(rank, kMeshAxes.at(i), place.at(i)), rank);
    }
    places.insert(place);
  }
  EXPECT_EQ(places.size(), 24u);
}

}  // namespace
}  // namespace headroom
