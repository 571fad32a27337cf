// Small spaces, enumerated: all ways to write a size as a product.
#pragma once

#include <string>
#include <vector>

#include "gang/mesh.h"

namespace gang::test {

// Every list of `count` factors >= 1 whose product is `size`, in order.
inline std::vector<std::vector<int>> factorizations(int size, int count) {
  if (count == 1) return {{size}};
  std::vector<std::vector<int>> result;
  for (int factor = 1; factor <= size; ++factor) {
    if (size % factor != 0) continue;
    for (std::vector<int> rest : factorizations(size / factor, count - 1)) {
      rest.insert(rest.begin(), factor);
      result.push_back(std::move(rest));
    }
  }
  return result;
}

// Every mesh of one to three axes "a", "b", "c" with at most `most` ranks.
inline std::vector<Mesh> small_meshes(int most) {
  std::vector<Mesh> meshes;
  for (int size = 1; size <= most; ++size) {
    for (int count = 1; count <= 3; ++count) {
      for (const std::vector<int>& factors : factorizations(size, count)) {
        std::vector<MeshAxis> axes;
        for (const int factor : factors)
          axes.push_back({std::string(1, static_cast<char>('a' + axes.size())), factor});
        meshes.emplace_back(std::move(axes));
      }
    }
  }
  return meshes;
}

}  // namespace gang::test
