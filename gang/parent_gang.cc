#include "gang/parent_gang.h"

#include <utility>

namespace gang {

void ParentGang::add_child(const std::shared_ptr<Gang>& child) {
  if (children_ == nullptr) children_ = std::make_unique<std::vector<std::weak_ptr<Gang>>>();
  // Expired children are dropped when room is needed: a gang that makes many stays small.
  if (children_->size() == children_->capacity()) {
    std::erase_if(*children_, [](const std::weak_ptr<Gang>& other) { return other.expired(); });
    if (children_->empty()) children_->reserve(4);
  }
  children_->push_back(child);
}

void ParentGang::close_children() noexcept {
  if (const auto children = std::exchange(children_, nullptr))
    for (const std::weak_ptr<Gang>& weak : *children)
      if (const std::shared_ptr<Gang> child = weak.lock()) child->close();
}

}  // namespace gang
