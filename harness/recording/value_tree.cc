#include "harness/recording/value_tree.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {

ValueTree::Container ValueTree::add_container(bool is_map) {
  if (containers_.size() == most_values)
    throw InvalidArgument(fmt::format("it has more than {} lists and maps", most_values));
  containers_.emplace_back();
  return {static_cast<std::uint32_t>(containers_.size() - 1), is_map};
}

void ValueTree::append(Container container, std::span<const Value> values) {
  Range& range = containers_[container.index];
  if (range.count + values.size() > range.capacity) {
    // At the end of the pool it grows in place; elsewhere it moves there, with room to grow.
    const bool is_last = range.begin + range.capacity == pool_.size();
    const std::size_t capacity =
        range.count == 0 ? values.size() : std::max(range.count + values.size(), 2 * range.count);
    const std::size_t added = capacity - (is_last ? range.capacity : 0);
    if (pool_.size() + added > most_values)
      throw InvalidArgument(fmt::format("it has more than {} values", most_values));
    const std::size_t begin = is_last ? range.begin : pool_.size();
    pool_.resize(pool_.size() + added);
    if (!is_last)
      std::copy_n(pool_.begin() + static_cast<std::ptrdiff_t>(range.begin), range.count,
                  pool_.begin() + static_cast<std::ptrdiff_t>(begin));
    range.begin = begin;
    range.capacity = capacity;
  }
  std::ranges::copy(values, pool_.begin() + static_cast<std::ptrdiff_t>(range.begin + range.count));
  range.count += values.size();
}

std::span<const ValueTree::Value> ValueTree::items(const Value& value) const {
  const auto* container = std::get_if<Container>(&value);
  if (container == nullptr) return {};
  const Range& range = containers_[container->index];
  return std::span(pool_).subspan(range.begin, range.count);
}

const ValueTree::Value* ValueTree::find(const Value& map, std::string_view key,
                                        std::size_t& hint) const {
  const auto* container = std::get_if<Container>(&map);
  if (container == nullptr || !container->is_map) return nullptr;
  const std::span<const Value> values = items(map);
  const auto is_at = [&](std::size_t place) {
    const auto* text = std::get_if<std::string_view>(&values[place]);
    return text != nullptr && *text == key;
  };
  if (hint + 1 < values.size() && is_at(hint)) return &values[hint + 1];
  for (std::size_t place = 0; place + 1 < values.size(); place += 2)
    if (is_at(place)) {
      hint = place;
      return &values[place + 1];
    }
  return nullptr;
}

std::string_view type_of(const ValueTree::Value& value) noexcept {
  static constexpr std::array<std::string_view, 5> names = {"nothing", "a flag", "a number",
                                                            "a number", "a text"};
  if (const auto* container = std::get_if<ValueTree::Container>(&value))
    return container->is_map ? "a map" : "a list";
  return names[value.index()];
}

}  // namespace gang::harness
