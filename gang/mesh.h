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

// Named axes with sizes over the ranks 0 ... size()-1, row-major: **neighbors on the last axis are
// adjacent**. A value; every method is pure. InvalidArgument names the axis and the number.
class Mesh {
 public:
  // At least one axis; names are unique, non-empty and without white space or '='; sizes are >= 1;
  // at most 2^31-1 ranks.
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

  // Every line of `axis`, ordered by first rank; together they contain each rank once.
  std::vector<std::vector<int>> lines(std::string_view axis) const;

  // The color for Gang::split to build the lines of `axis` (the key is the coordinate): the index
  // of the line of `rank`, dense, from 0, by first rank.
  int line_index(int rank, std::string_view axis) const;

  // The ranks whose coordinates on all axes other than `axes` equal those of `rank`, row-major over
  // `axes` in mesh order.
  std::vector<int> sub_mesh(int rank, std::span<const std::string> axes) const;

  // The mesh with `axes`, which must be adjacent in it, merged into one axis called `name`, whose
  // size is the product of theirs. Ranks do not move.
  Mesh flattened(std::span<const std::string> axes, std::string name) const;

  friend bool operator==(const Mesh&, const Mesh&) = default;

 private:
  std::vector<MeshAxis> axes_;
  int size_ = 1;
};

// "pp=2 dp=2 tp=2", and back; InvalidArgument names the part that is wrong.
std::string to_string(const Mesh& mesh);
Mesh parse_mesh(std::string_view text);

}  // namespace gang
