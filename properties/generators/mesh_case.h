// Random meshes.
#pragma once

#include <string>
#include <vector>

#include "properties/law.h"

namespace gang::properties {

// The sizes of a mesh's axes; axis i is called "a", "b", ... in order.
struct MeshCase {
  std::vector<int> sizes;

  int world() const noexcept;
  friend bool operator==(const MeshCase&, const MeshCase&) = default;
};

// One to four axes, of at most 4 Settings::max_world ranks.
MeshCase generate_mesh(Draw& draw);

std::string axis_name(std::size_t axis);
std::string to_text(const MeshCase& mesh);
std::vector<MeshCase> shrinks(const MeshCase& mesh);

}  // namespace gang::properties
