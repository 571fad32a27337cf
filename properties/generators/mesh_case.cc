#include "properties/generators/mesh_case.h"

#include <functional>
#include <numeric>

#include <fmt/format.h>

#include "properties/simpler_cases.h"

namespace gang::properties {

namespace {

std::string axis_name(std::size_t axis) { return std::string(1, static_cast<char>('a' + axis)); }

}  // namespace

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

Mesh mesh_of(const MeshCase& mesh) {
  std::vector<MeshAxis> axes;
  for (std::size_t i = 0; i < mesh.sizes.size(); ++i) axes.push_back({axis_name(i), mesh.sizes[i]});
  return Mesh(std::move(axes));
}

std::string to_text(const MeshCase& mesh) {
  std::string text = fmt::format("world {},", mesh.world());
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis)
    text += fmt::format(" {}={}", axis_name(axis), mesh.sizes[axis]);
  return text;
}

std::vector<MeshCase> shrinks(const MeshCase& mesh) {
  SimplerCases simpler(mesh);
  simpler.add([](MeshCase& one) {  // on every axis, so that equal sizes stay equal
    for (int& size : one.sizes) size = std::max(1, size - 1);
  });
  for (std::size_t axis = 0; axis < mesh.sizes.size(); ++axis) {
    if (mesh.sizes.size() > 1) {
      simpler.add([axis](MeshCase& one) {
        one.sizes.erase(one.sizes.begin() + static_cast<std::ptrdiff_t>(axis));
      });
    }
    for (const int size : {1, mesh.sizes[axis] / 2, mesh.sizes[axis] - 1})
      if (size >= 1) simpler.add([axis, size](MeshCase& one) { one.sizes[axis] = size; });
  }
  return simpler.take();
}

}  // namespace gang::properties
