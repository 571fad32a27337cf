// The base of gangs that list their children.
#pragma once

#include <memory>
#include <vector>

#include "gang/gang.h"

namespace gang {

// A gang that lists the gangs made from it, to close them with it: what a backend derives from
// unless it knows them anyway. Does not keep them.
class ParentGang : public Gang {
 protected:
  using Gang::Gang;

  void add_child(const std::shared_ptr<Gang>& child) override;
  void close_children() noexcept override;

 private:
  std::unique_ptr<std::vector<std::weak_ptr<Gang>>> children_;  // null until the first
};

}  // namespace gang
