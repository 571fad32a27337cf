#include "properties/meshes_are_arithmetic.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "properties/generators/mesh_case.h"

namespace gang::properties {
namespace {

// What is wrong with a mesh; empty if the law holds.
using CheckMesh = std::string (*)(const MeshSubject&, const Mesh&);

std::string coordinates_invert(const MeshSubject& subject, const Mesh& mesh) {
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> coordinates = subject.coordinates(mesh, rank);
    if (coordinates.size() != mesh.axes().size())
      return "a rank does not have one coordinate per axis";
    for (std::size_t axis = 0; axis < coordinates.size(); ++axis)
      if (coordinates[axis] < 0 || coordinates[axis] >= mesh.axes()[axis].size)
        return fmt::format("rank {} has coordinate {} on axis {}", rank, coordinates[axis],
                           mesh.axes()[axis].name);
    const int back = mesh.rank_at(coordinates);
    if (back != rank)
      return fmt::format("rank {} is said to be at [{}], but that is rank {}", rank,
                         fmt::join(coordinates, ","), back);
  }
  return {};
}

// Row-major: the last axis is adjacent.
std::string last_axis_is_adjacent(const MeshSubject& subject, const Mesh& mesh) {
  for (int rank = 0; rank < mesh.size(); ++rank) {
    const std::vector<int> line = subject.line(mesh, rank, mesh.axes().back().name);
    for (std::size_t i = 0; i < line.size(); ++i) {
      const int expected = rank - rank % mesh.axes().back().size + static_cast<int>(i);
      if (line[i] != expected)
        return fmt::format("the last axis at rank {} is [{}]", rank, fmt::join(line, ","));
    }
  }
  return {};
}

std::string check_line(const MeshSubject& subject, const Mesh& mesh, int rank, std::size_t axis) {
  const std::string& name = mesh.axes()[axis].name;
  const std::vector<int> line = subject.line(mesh, rank, name);
  std::vector<int> expected;
  std::vector<int> coordinates = mesh.coordinates(rank);
  for (int i = 0; i < mesh.axes()[axis].size; ++i) {
    coordinates[axis] = i;
    expected.push_back(mesh.rank_at(coordinates));
  }
  if (line == expected) return {};
  return fmt::format("axis {} at rank {} is [{}], expected [{}]", name, rank, fmt::join(line, ","),
                     fmt::join(expected, ","));
}

std::string lines_vary_one_coordinate(const MeshSubject& subject, const Mesh& mesh) {
  for (int rank = 0; rank < mesh.size(); ++rank)
    for (std::size_t axis = 0; axis < mesh.axes().size(); ++axis)
      if (std::string complaint = check_line(subject, mesh, rank, axis); !complaint.empty())
        return complaint;
  return {};
}

// lines()[line_index(rank)][coordinate] is the rank: what Gang::split builds on.
std::string lines_are_numbered_densely(const MeshSubject& subject, const Mesh& mesh) {
  for (const MeshAxis& axis : mesh.axes()) {
    const std::vector<std::vector<int>> lines = mesh.lines(axis.name);
    if (static_cast<int>(lines.size()) != mesh.size() / axis.size) return "lines are missing";
    for (int rank = 0; rank < mesh.size(); ++rank) {
      const int index = subject.line_index(mesh, rank, axis.name);
      const int place = mesh.coordinate(rank, axis.name);
      if (index < 0 || index >= static_cast<int>(lines.size()) ||
          lines[static_cast<std::size_t>(index)][static_cast<std::size_t>(place)] != rank) {
        return fmt::format("rank {} is not at place {} of line {} of axis {}", rank, place, index,
                           axis.name);
      }
    }
  }
  return {};
}

std::string sub_meshes_cross_lines(const MeshSubject& subject, const Mesh& mesh) {
  for (std::size_t first = 0; first + 1 < mesh.axes().size(); ++first) {
    const std::string axes[] = {mesh.axes()[first].name, mesh.axes()[first + 1].name};
    for (int rank = 0; rank < mesh.size(); ++rank) {
      std::vector<int> expected;  // row-major: a line of the second axis at each rank of the first
      for (const int start : mesh.line(rank, axes[0])) {
        const std::vector<int> line = mesh.line(start, axes[1]);
        expected.insert(expected.end(), line.begin(), line.end());
      }
      const std::vector<int> ranks = subject.sub_mesh(mesh, rank, axes);
      if (ranks != expected)
        return fmt::format("the sub-mesh {}×{} at rank {} is [{}], expected [{}]", axes[0], axes[1],
                           rank, fmt::join(ranks, ","), fmt::join(expected, ","));
    }
  }
  return {};
}

std::string flattening_merges_axes(const MeshSubject& subject, const Mesh& mesh) {
  for (std::size_t first = 0; first + 1 < mesh.axes().size(); ++first) {
    const std::string axes[] = {mesh.axes()[first].name, mesh.axes()[first + 1].name};
    const Mesh flat = subject.flattened(mesh, axes);
    if (flat.size() != mesh.size()) return "flattening changes the number of ranks";
    for (int rank = 0; rank < mesh.size(); ++rank)
      if (flat.line(rank, "flat") != mesh.sub_mesh(rank, axes))
        return fmt::format("the flattened axis at rank {} is not the sub-mesh {}×{}", rank, axes[0],
                           axes[1]);
  }
  return {};
}

constexpr LawRow<CheckMesh> mesh_laws[] = {
    {"coordinates_and_ranks_are_inverse", "rank_at(coordinates(rank)) is rank.",
     coordinates_invert},
    {"the_last_axis_is_adjacent", "Ranks are in row-major order.", last_axis_is_adjacent},
    {"a_line_varies_one_coordinate", "A line through a rank lists its ranks in coordinate order.",
     lines_vary_one_coordinate},
    {"lines_are_numbered_densely", "line_index and coordinate find a rank among the lines.",
     lines_are_numbered_densely},
    {"a_sub_mesh_is_lines_across_a_line",
     "A sub-mesh of two axes lists its ranks in row-major order.", sub_meshes_cross_lines},
    {"flattening_merges_adjacent_axes", "A line of the merged axis is the sub-mesh of its axes.",
     flattening_merges_axes},
};

}  // namespace

std::vector<Property> meshes_are_arithmetic(const MeshSubject& subject) {
  return laws_of<MeshCase>(mesh_laws, {.suite = "meshes_are_arithmetic", .generate = generate_mesh},
                           [subject](CheckMesh check, const MeshCase& mesh) {
                             return Verdict::holds_unless(check(subject, mesh_of(mesh)));
                           });
}

}  // namespace gang::properties
