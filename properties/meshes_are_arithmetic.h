// Laws of every Mesh.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/mesh.h"
#include "properties/property.h"

namespace gang::properties {

// What the laws ask of a mesh: the functions under test.
struct MeshSubject {
  std::function<std::vector<int>(const Mesh&, int rank)> coordinates =
      [](const Mesh& mesh, int rank) { return mesh.coordinates(rank); };
  std::function<std::vector<int>(const Mesh&, int rank, std::string_view axis)> line =
      [](const Mesh& mesh, int rank, std::string_view axis) { return mesh.line(rank, axis); };
  std::function<int(const Mesh&, int rank, std::string_view axis)> line_index =
      [](const Mesh& mesh, int rank, std::string_view axis) { return mesh.line_index(rank, axis); };
  std::function<std::vector<int>(const Mesh&, int rank, std::span<const std::string> axes)>
      sub_mesh = [](const Mesh& mesh, int rank, std::span<const std::string> axes) {
        return mesh.sub_mesh(rank, axes);
      };
  std::function<Mesh(const Mesh&, std::span<const std::string> axes)> flattened =
      [](const Mesh& mesh, std::span<const std::string> axes) {
        return mesh.flattened(axes, "flat");
      };
};

std::vector<Property> meshes_are_arithmetic(const MeshSubject& subject = {});

}  // namespace gang::properties
