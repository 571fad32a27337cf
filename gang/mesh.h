// Named axes over a range of ranks: pure arithmetic.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gang {

struct MeshAxis {
  std::string name;
  int size = 1;

  friend bool operator==(const MeshAxis&, const MeshAxis&) = default;
};

// Named axes with sizes over the ranks 0 ... size()-1, row-major: the **last axis is adjacent**.
// A value; every method is pure. Errors are InvalidArgument and name the axis and the number.
class Mesh {
 public:
  // At least one axis; names unique, non-empty and without white space or '='; sizes >= 1; at most
  // 2^31-1 ranks.
  explicit Mesh(std::vector<MeshAxis> axes);

  const std::vector<MeshAxis>& axes() const noexcept { return axes_; }
  int size() const noexcept { return size_; }
  bool has_axis(std::string_view axis) const noexcept;
  int axis_size(std::string_view axis) const;

  // The coordinate of `rank` on every axis, in axis order; on one axis.
  std::vector<int> coordinates(int rank) const;
  int coordinate(int rank, std::string_view axis) const;

  // The inverse of coordinates.
  int rank_at(std::span<const int> coordinates) const;

  // The ranks that differ from `rank` only on `axis`, in coordinate order; `rank` is one of them.
  std::vector<int> line(int rank, std::string_view axis) const;

  // Every line of `axis`, ordered by its first rank: together they hold each rank once.
  std::vector<std::vector<int>> lines(std::string_view axis) const;

  // What Gang::split needs to build the lines of `axis`: the index of the line of `rank` (dense,
  // from 0, by first rank) and the coordinate within it.
  int line_index(int rank, std::string_view axis) const;

  // The ranks whose coordinate on each axis not named equals that of `rank`, row-major over the
  // named axes in mesh order.
  std::vector<int> sub_mesh(int rank, std::span<const std::string> axes) const;

  // The mesh with `axes`, which follow one another in it, merged into one called `name`, of the
  // product of their sizes. Ranks do not move.
  Mesh flattened(std::span<const std::string> axes, std::string name) const;

  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::vector<MeshAxis> axes_;
  int size_ = 1;
};

// "pp=2 dp=2 tp=2", and back; parse throws InvalidArgument naming the part that is wrong.
std::string to_string(const Mesh& mesh);
Mesh parse_mesh(std::string_view text);

}  // namespace gang
