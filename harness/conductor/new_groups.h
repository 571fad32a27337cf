// Groups that the ranks of a program on PyTorch make.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gang/call_site.h"
#include "harness/conductor/messages.h"
#include "sim/report/report.h"

namespace gang::harness {

// PyTorch names groups by how many a rank has made. So if ranks make groups in other orders, or one
// is left out, groups of one name have other members: what follows fails for this.
class NewGroups {
 public:
  // The rank makes a group. Returns a finding if now all of the world have made it, and not all of
  // the same ranks, unless another group was told before.
  std::optional<sim::Finding> note(int rank, const NewGroupMessage& message, int world_size);

  // At the end of a run: the same of the first group that differs, though some have not made it.
  std::optional<sim::Finding> unfinished();

  void clear() { *this = NewGroups(); }

 private:
  struct Maker {
    int rank = 0;
    std::vector<int> members;
    CallSite call_site;
  };
  struct Group {
    std::uint32_t init = 0;
    std::string name;
    std::vector<Maker> makers;
  };

  Group& group_of(const NewGroupMessage& message);
  static bool is_agreed(const Group& group);
  static sim::Finding finding_of(const Group& group);

  std::vector<Group> groups_;  // in the order of their first makers
  bool has_told_ = false;
};

}  // namespace gang::harness
