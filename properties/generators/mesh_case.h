// Random meshes.
#pragma once

#include <string>
#include <vector>

#include "gang/mesh.h"
#include "properties/law.h"

namespace gang::properties {

// The sizes of a mesh's axes, which are called "a", "b", ... in order.
struct MeshCase {
  std::vector<int> sizes;

  int world() const noexcept;
  friend bool operator==(const MeshCase&, const MeshCase&) = default;
};

// One to four axes, of at most 4 Settings::max_world ranks.
MeshCase generate_mesh(Draw& draw);

Mesh mesh_of(const MeshCase& mesh);
std::string to_text(const MeshCase& mesh);
std::vector<MeshCase> shrinks(const MeshCase& mesh);

}  // namespace gang::properties
