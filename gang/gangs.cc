#include "gang/gangs.h"

#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "gang/fake_gang.h"

namespace gang {
namespace {

using GangPointer = std::shared_ptr<Gang>;

// The gangs that a factory has made so far, closed again, newest first, unless it succeeds.
class MadeGangs {
 public:
  MadeGangs() { gangs_.reserve(6); }  // rarely more
  MadeGangs(const MadeGangs&) = delete;
  MadeGangs& operator=(const MadeGangs&) = delete;

  ~MadeGangs() {
    for (std::size_t i = gangs_.size(); i-- > 0;) gangs_[i]->close();
  }

  GangPointer add(GangPointer gang) {
    if (gang != nullptr) gangs_.push_back(gang);
    return gang;
  }

  void keep() noexcept { gangs_.clear(); }

 private:
  std::vector<GangPointer> gangs_;
};

GangPointer make_single(const Gang& parent, const std::string& name) {
  return make_fake_gang({.device = parent.device(), .name = name, .timeout = parent.timeout()});
}

// The line of this rank on `axis` of a mesh over `parent`.
GangPointer split_line(const GangPointer& parent, const Mesh& mesh, const std::string& axis,
                       CallSite call_site) {
  const int rank = parent->rank();
  const GangOptions options{.name = axis, .timeout = std::nullopt};
  // Imaginary members have no colors of their own, so the line is given explicitly.
  if (parent->info().root_ranks.empty())
    return parent->create_gang(mesh.line(rank, axis), options, call_site);
  return parent->split({.color = mesh.line_index(rank, axis), .key = mesh.coordinate(rank, axis)},
                       options, call_site);
}

// The gang of an axis. Size 1 needs no communication; the parent's size is the parent itself.
GangPointer make_axis(const GangPointer& parent, const Mesh& mesh, const std::string& axis,
                      MadeGangs& made, CallSite call_site) {
  const int size = mesh.axis_size(axis);
  if (size == 1) return made.add(make_single(*parent, axis));
  if (size == parent->size()) return parent;
  return made.add(split_line(parent, mesh, axis, call_site));
}

GangPointer& field_of(Gangs& gangs, const std::string& axis) {
  if (axis == "dp") return gangs.dp;
  if (axis == "tp") return gangs.tp;
  if (axis == "pp") return gangs.pp;
  return gangs.others[axis];
}

void check_mesh(const Gang& root, const Mesh& mesh) {
  if (mesh.size() != root.size())
    throw InvalidArgument("the mesh " + to_string(mesh) + " has " + std::to_string(mesh.size()) +
                          " ranks and " + label_of(root.info()) + " has " +
                          std::to_string(root.size()) + "; the sizes must be equal");
  for (const std::string_view reserved : {"root", "rdp", "sdp"})
    if (mesh.has_axis(reserved))
      throw InvalidArgument("mesh axis " + std::string(reserved) +
                            " has the name of a gang that is derived from others; use another "
                            "name, such as dp, tp, pp, cp or ep");
}

void check_root(const GangPointer& root) {
  if (root == nullptr) throw InvalidArgument("the root gang is null; must be an open gang");
}

std::array<std::pair<std::string_view, const GangPointer*>, 6> fields_of(const Gangs& gangs) {
  return {{{"root", &gangs.root},
           {"dp", &gangs.dp},
           {"rdp", &gangs.rdp},
           {"sdp", &gangs.sdp},
           {"tp", &gangs.tp},
           {"pp", &gangs.pp}}};
}

}  // namespace

const GangPointer& Gangs::at(std::string_view name) const {
  std::string known;
  for (const auto& [field_name, field] : fields_of(*this)) {
    if (field_name == name) return *field;
    known += (known.empty() ? "" : ", ") + std::string(field_name);
  }
  for (const auto& [other_name, other] : others) {
    if (other_name == name) return other;
    known += ", " + other_name;
  }
  throw InvalidArgument("there is no gang '" + std::string(name) + "'; must be one of: " + known);
}

void Gangs::close() {
  for (const auto& [name, other] : others)
    if (other != nullptr && other != root) other->close();
  for (const auto& [name, field] : fields_of(*this))
    if (*field != nullptr && *field != root) (*field)->close();
  if (root != nullptr) root->close();
}

void check_rank_zero(const Gangs& gangs) {
  const auto check = [&gangs](std::string_view name, const GangPointer& field) {
    if (field == nullptr) throw InvalidOperation("gang " + std::string(name) + " is not set");
    if (gangs.root->rank() == 0 && field->rank() != 0)
      throw InvalidOperation("rank 0 of the root is rank " + std::to_string(field->rank()) +
                             " of gang " + std::string(name) + "; must be rank 0");
  };
  for (const auto& [name, field] : fields_of(gangs)) check(name, *field);
  for (const auto& [name, other] : gangs.others) check(name, other);
}

Gangs create_mesh_gangs(const GangPointer& root, const Mesh& mesh, CallSite call_site) {
  check_root(root);
  check_mesh(*root, mesh);
  MadeGangs made;
  Gangs gangs;
  gangs.root = root;
  for (const MeshAxis& axis : mesh.axes())
    field_of(gangs, axis.name) = make_axis(root, mesh, axis.name, made, call_site);
  for (const std::string axis : {"dp", "tp", "pp"})
    if (!mesh.has_axis(axis)) field_of(gangs, axis) = made.add(make_single(*root, axis));
  gangs.rdp = gangs.dp;
  gangs.sdp = made.add(make_single(*root, "sdp"));
  check_rank_zero(gangs);
  made.keep();
  return gangs;
}

Gangs create_parallel_gangs(const GangPointer& root, const ParallelSizes& sizes,
                            CallSite call_site) {
  check_root(root);
  return create_mesh_gangs(root, parallel_mesh(root->size(), sizes), call_site);
}

Gangs create_fsdp_gangs(const Gangs& gangs, std::optional<int> intra_node_size,
                        CallSite call_site) {
  check_rank_zero(gangs);
  MadeGangs made;
  Gangs result = gangs;
  if (intra_node_size) {
    const Mesh mesh = fsdp_mesh(gangs.dp->size(), *intra_node_size);
    result.rdp = make_axis(gangs.dp, mesh, "rdp", made, call_site);
    result.sdp = make_axis(gangs.dp, mesh, "sdp", made, call_site);
  } else {
    result.rdp = made.add(make_single(*gangs.dp, "rdp"));
    result.sdp = gangs.dp;
  }
  check_rank_zero(result);
  made.keep();
  return result;
}

Gangs create_fake_gangs(Device device) {
  const GangPointer gang = make_fake_gang({.device = device});
  return {.root = gang, .dp = gang, .rdp = gang, .sdp = gang, .tp = gang, .pp = gang, .others = {}};
}

}  // namespace gang
