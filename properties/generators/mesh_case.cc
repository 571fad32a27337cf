#include "properties/generators/mesh_case.h"

#include <functional>
#include <numeric>

#include <fmt/format.h>

namespace gang::properties {

int MeshCase::world() const noexcept {
  return std::accumulate(sizes.begin(), sizes.end(), 1, std::multiplies<>());
}

MeshCase generate_mesh(Draw& draw) {
  MeshCase mesh;
  const int axes = draw.between(1, 4);
  int left = 4 * draw.max_world;
  for (int axis = 0; axis < axes; ++axis) {
    mesh.sizes.push_back(draw.between(1, std::min(left, 8)));
    left /= mesh.sizes.back();
  }
  return mesh;
}

std::string axis_name(std::size_t axis) { return std::string(1, static_cast<char>('a' + axis)); }

std::string to_text(const MeshCase& mesh) {
  std::string text = fmt::format("world {},", mesh.world());
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    text += fmt::format(" {}={}", axis_name(axis), mesh.sizes[axis]);
  }
  return text;
}

std::vector<MeshCase> shrinks(const MeshCase& mesh) {
  std::vector<MeshCase> simpler;
  MeshCase shorter = mesh;  // on every axis, so that equal sizes stay equal
  for (int& size : shorter.sizes) size = std::max(1, size - 1);
  if (shorter != mesh) simpler.push_back(std::move(shorter));
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    const auto at = static_cast<std::ptrdiff_t>(axis);
    if (mesh.sizes.size() > 1) {
      simpler.push_back(mesh);
      simpler.back().sizes.erase(simpler.back().sizes.begin() + at);
    }
    for (const int size : {1, mesh.sizes[axis] / 2, mesh.sizes[axis] - 1}) {
      if (size < 1 || size >= mesh.sizes[axis]) continue;
      simpler.push_back(mesh);
      simpler.back().sizes[axis] = size;
    }
  }
  return simpler;
}

}  // namespace gang::properties
