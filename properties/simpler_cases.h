// Simpler variants of a case, for its `shrinks`.
#pragma once

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>
#include <vector>

namespace gang::properties {

// Collects variants of one case, in the order in which they are added. `original` must outlive
// this.
template <typename Case>
class SimplerCases {
 public:
  explicit SimplerCases(const Case& original) : original_(original) {}

  // A copy changed by `change`, unless it equals the original.
  template <typename Change>
  void add(const Change& change) {
    cases_.push_back(original_);
    change(cases_.back());
    if (cases_.back() == original_) cases_.pop_back();
  }

  // A copy with another value of `field`, if that is less.
  template <typename Field>
  void lower(Field Case::* field, const std::type_identity_t<Field>& value) {
    if (value < original_.*field) set(field, value);
  }

  // A copy with the default value of `field`, unless it has that.
  template <typename Field>
  void reset(Field Case::* field) {
    const Field value = Case{}.*field;
    if (!(value == original_.*field)) set(field, value);
  }

  // Copies that each lack one element of `list`, a field or a function of the case; none if the
  // list has `fewest` elements.
  template <typename List>
  void drop_each(const List& list, std::size_t fewest = 0) {
    Case copy = original_;
    const std::size_t count = std::invoke(list, copy).size();
    for (std::size_t i = 0; i < count && count > fewest; ++i) {
      cases_.push_back(original_);
      auto& shorter = std::invoke(list, cases_.back());
      shorter.erase(shorter.begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

  std::vector<Case> take() { return std::move(cases_); }

 private:
  template <typename Field>
  void set(Field Case::* field, const Field& value) {
    cases_.push_back(original_);
    cases_.back().*field = value;
  }

  const Case& original_;
  std::vector<Case> cases_;
};

}  // namespace gang::properties
