#include "properties/meshes_are_arithmetic.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(MeshesAreArithmetic, HoldOfEveryMesh) { expect_hold(meshes_are_arithmetic(), 2000); }

TEST(MeshesAreArithmetic, CoordinatesInReverseAreCaught) {
  MeshSubject subject;
  subject.coordinates = [](const Mesh& mesh, int rank) {
    std::vector<int> coordinates = mesh.coordinates(rank);
    if (mesh.axes().front().size == mesh.axes().back().size) std::ranges::reverse(coordinates);
    return coordinates;
  };
  const Counterexample found = expect_caught(
      meshes_are_arithmetic(subject), "coordinates_and_ranks_are_inverse", "but that is rank");
  EXPECT_EQ(found.text, "world 4, a=2 b=2");
}

TEST(MeshesAreArithmetic, AFirstAxisThatIsAdjacentIsCaught) {
  MeshSubject subject;
  subject.line = [](const Mesh& mesh, int rank, std::string_view) {
    return mesh.line(rank, mesh.axes().front().name);
  };
  expect_caught(meshes_are_arithmetic(subject), "the_last_axis_is_adjacent");
  expect_caught(meshes_are_arithmetic(subject), "a_line_varies_one_coordinate");
}

TEST(MeshesAreArithmetic, LinesNumberedWithGapsAreCaught) {
  MeshSubject subject;
  subject.line_index = [](const Mesh& mesh, int rank, std::string_view axis) {
    return mesh.line(rank, axis).front();
  };
  expect_caught(meshes_are_arithmetic(subject), "lines_are_numbered_densely");
}

TEST(MeshesAreArithmetic, AnUnorderedSubMeshIsCaught) {
  MeshSubject subject;
  subject.sub_mesh = [](const Mesh& mesh, int rank, std::span<const std::string> axes) {
    std::vector<int> ranks = mesh.sub_mesh(rank, axes);
    std::ranges::reverse(ranks);
    return ranks;
  };
  expect_caught(meshes_are_arithmetic(subject), "a_sub_mesh_is_lines_across_a_line");
}

TEST(MeshesAreArithmetic, AFlatteningOfOtherAxesIsCaught) {
  MeshSubject subject;
  subject.flattened = [](const Mesh& mesh, std::span<const std::string> axes) {
    const int inner = mesh.axis_size(axes[1]);
    return Mesh({{"rest", mesh.size() / inner}, {"flat", inner}});
  };
  expect_caught(meshes_are_arithmetic(subject), "flattening_merges_adjacent_axes");
}

}  // namespace
}  // namespace gang::properties
