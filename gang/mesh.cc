#include "gang/mesh.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "gang/error.h"

namespace gang {
namespace {

constexpr std::string_view white_space = " \t\r\n";

void check_axis(const MeshAxis& axis) {
  if (axis.name.empty()) throw InvalidArgument("a mesh axis has an empty name; must be non-empty");
  if (axis.name.find_first_of(" \t\r\n=") != std::string::npos)
    throw InvalidArgument("mesh axis '" + axis.name +
                          "' has white space or '=' in its name; must have neither");
  if (axis.size < 1)
    throw InvalidArgument("mesh axis " + axis.name + " has size " + std::to_string(axis.size) +
                          "; must be 1 or more");
}

std::string names_of(const std::vector<MeshAxis>& axes) {
  std::string text;
  for (const MeshAxis& axis : axes) text += (text.empty() ? "" : ", ") + axis.name;
  return text;
}

std::size_t index_of(const Mesh& mesh, std::string_view name) {
  const std::vector<MeshAxis>& axes = mesh.axes();
  const auto found = std::ranges::find(axes, name, &MeshAxis::name);
  if (found == axes.end())
    throw InvalidArgument("the mesh " + to_string(mesh) + " has no axis '" + std::string(name) +
                          "'; must be one of: " + names_of(axes));
  return static_cast<std::size_t>(found - axes.begin());
}

// How far apart neighbours on axis `index` are.
int stride_of(const std::vector<MeshAxis>& axes, std::size_t index) {
  int stride = 1;
  for (std::size_t i = index + 1; i < axes.size(); ++i) stride *= axes[i].size;
  return stride;
}

void check_in_mesh(const Mesh& mesh, int rank) {
  if (rank < 0 || rank >= mesh.size())
    throw InvalidArgument("rank " + std::to_string(rank) + " is not in the mesh " +
                          to_string(mesh) + "; must be 0 to " + std::to_string(mesh.size() - 1));
}

std::vector<int> line_from(int first, int size, int stride) {
  std::vector<int> ranks;
  ranks.reserve(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) ranks.push_back(first + i * stride);
  return ranks;
}

MeshAxis parse_axis(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view number = equals == text.npos ? "" : text.substr(equals + 1);
  int size = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), size);
  if (error != std::errc{} || end != number.data() + number.size())
    throw InvalidArgument("mesh axis '" + std::string(text) +
                          "' is not NAME=SIZE, for example tp=2");
  return {std::string(text.substr(0, equals)), size};
}

}  // namespace

Mesh::Mesh(std::vector<MeshAxis> axes) : axes_(std::move(axes)) {
  if (axes_.empty()) throw InvalidArgument("a mesh has no axes; must have one or more");
  std::int64_t size = 1;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    check_axis(axes_[i]);
    for (std::size_t j = 0; j < i; ++j)
      if (axes_[j].name == axes_[i].name)
        throw InvalidArgument("mesh axis " + axes_[i].name +
                              " is given twice; names must be unique");
    size *= axes_[i].size;
    if (size > std::numeric_limits<int>::max())
      throw InvalidArgument("axis " + axes_[i].name + " takes the mesh " + to_string(*this) +
                            " over the limit of " +
                            std::to_string(std::numeric_limits<int>::max()) + " ranks");
  }
  size_ = static_cast<int>(size);
}

bool Mesh::has_axis(std::string_view axis) const noexcept {
  return std::ranges::find(axes_, axis, &MeshAxis::name) != axes_.end();
}

int Mesh::axis_size(std::string_view axis) const { return axes_[index_of(*this, axis)].size; }

std::vector<int> Mesh::coordinates(int rank) const {
  check_in_mesh(*this, rank);
  std::vector<int> result(axes_.size());
  for (std::size_t i = axes_.size(); i-- > 0;) {
    result[i] = rank % axes_[i].size;
    rank /= axes_[i].size;
  }
  return result;
}

int Mesh::coordinate(int rank, std::string_view axis) const {
  check_in_mesh(*this, rank);
  const std::size_t index = index_of(*this, axis);
  return rank / stride_of(axes_, index) % axes_[index].size;
}

int Mesh::rank_at(std::span<const int> coordinates) const {
  if (coordinates.size() != axes_.size())
    throw InvalidArgument(std::to_string(coordinates.size()) + " coordinates in the mesh " +
                          to_string(*this) + "; must be " + std::to_string(axes_.size()));
  int rank = 0;
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (coordinates[i] < 0 || coordinates[i] >= axes_[i].size)
      throw InvalidArgument("coordinate on mesh axis " + axes_[i].name + " is " +
                            std::to_string(coordinates[i]) + "; must be 0 to " +
                            std::to_string(axes_[i].size - 1));
    rank = rank * axes_[i].size + coordinates[i];
  }
  return rank;
}

std::vector<int> Mesh::line(int rank, std::string_view axis) const {
  check_in_mesh(*this, rank);
  const std::size_t index = index_of(*this, axis);
  const int stride = stride_of(axes_, index);
  const int size = axes_[index].size;
  return line_from(rank - rank / stride % size * stride, size, stride);
}

std::vector<std::vector<int>> Mesh::lines(std::string_view axis) const {
  const std::size_t index = index_of(*this, axis);
  const int stride = stride_of(axes_, index);
  const int size = axes_[index].size;
  std::vector<std::vector<int>> result;
  result.reserve(static_cast<std::size_t>(size_ / size));
  for (int i = 0; i < size_ / size; ++i)
    result.push_back(line_from(i / stride * stride * size + i % stride, size, stride));
  return result;
}

int Mesh::line_index(int rank, std::string_view axis) const {
  check_in_mesh(*this, rank);
  const std::size_t index = index_of(*this, axis);
  const int stride = stride_of(axes_, index);
  return rank / stride / axes_[index].size * stride + rank % stride;
}

std::vector<int> Mesh::sub_mesh(int rank, std::span<const std::string> axes) const {
  check_in_mesh(*this, rank);
  std::vector<bool> is_named(axes_.size());
  for (const std::string& axis : axes) is_named[index_of(*this, axis)] = true;
  std::vector<int> origin = coordinates(rank);
  for (std::size_t i = 0; i < axes_.size(); ++i)
    if (is_named[i]) origin[i] = 0;
  std::vector<int> ranks = {rank_at(origin)};
  for (std::size_t i = 0; i < axes_.size(); ++i) {
    if (!is_named[i]) continue;
    const std::vector<int> firsts = std::exchange(ranks, {});
    for (const int first : firsts)
      for (const int next : line_from(first, axes_[i].size, stride_of(axes_, i)))
        ranks.push_back(next);
  }
  return ranks;
}

Mesh Mesh::flattened(std::span<const std::string> axes, std::string name) const {
  if (axes.empty())
    throw InvalidArgument("no axes to merge into " + name + "; must be one or more");
  const std::size_t first = index_of(*this, axes.front());
  std::int64_t size = 1;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t index = index_of(*this, axes[i]);
    if (index != first + i)
      throw InvalidArgument("mesh axis " + axes[i] + " does not follow the one before it in " +
                            to_string(*this) + "; axes to merge must be adjacent and in order");
    size *= axes_[index].size;
  }
  std::vector<MeshAxis> merged = axes_;
  const auto begin = merged.begin() + static_cast<std::ptrdiff_t>(first);
  merged.erase(begin + 1, begin + static_cast<std::ptrdiff_t>(axes.size()));
  *begin = {std::move(name), static_cast<int>(size)};
  return Mesh(std::move(merged));
}

std::string to_string(const Mesh& mesh) {
  std::string text;
  for (const MeshAxis& axis : mesh.axes())
    text += (text.empty() ? "" : " ") + axis.name + "=" + std::to_string(axis.size);
  return text;
}

Mesh parse_mesh(std::string_view text) {
  std::vector<MeshAxis> axes;
  for (std::size_t first = text.find_first_not_of(white_space); first != text.npos;) {
    const std::size_t end = std::min(text.find_first_of(white_space, first), text.size());
    axes.push_back(parse_axis(text.substr(first, end - first)));
    first = text.find_first_not_of(white_space, end);
  }
  return Mesh(std::move(axes));
}

}  // namespace gang
