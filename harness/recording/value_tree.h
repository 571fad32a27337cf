// What a file holds, as plain values, whatever its format.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace gang::harness {

// Values in a pool. Containers may be shared, so that a tree may be larger than what it was read
// from: who walks one counts its steps. Texts of the file are borrowed. Memory: O(values added).
class ValueTree {
 public:
  struct Container {
    std::uint32_t index = 0;
    bool is_map = false;  // then keys and values alternate

    friend bool operator==(const Container&, const Container&) = default;
  };
  using Value =
      std::variant<std::monostate, bool, std::int64_t, double, std::string_view, Container>;

  // More values than any dump has. Throws InvalidArgument beyond that.
  static constexpr std::size_t most_values = std::size_t{1} << 24;

  Container add_container(bool is_map);
  void append(Container container, std::span<const Value> values);

  // A text that the file holds in another form.
  std::string_view keep(std::string text) { return texts_.emplace_back(std::move(text)); }

  void set_root(const Value& root) { root_ = root; }
  const Value& root() const noexcept { return root_; }

  // The elements of a list, keys and values of a map; nothing of any other value.
  std::span<const Value> items(const Value& value) const;

  // The value of `key`; null if `map` is no map, or has no such key. `hint` remembers the place:
  // maps that are made alike are read without a search.
  const Value* find(const Value& map, std::string_view key, std::size_t& hint) const;
  const Value* find(const Value& map, std::string_view key) const {
    std::size_t hint = 0;
    return find(map, key, hint);
  }

 private:
  struct Range {
    std::size_t begin = 0;
    std::size_t count = 0;
    std::size_t capacity = 0;
  };

  std::vector<Value> pool_;
  std::vector<Range> containers_;
  std::deque<std::string> texts_;
  Value root_;
};

// "a list", "a number": what a value is, for errors.
std::string_view type_of(const ValueTree::Value& value) noexcept;

}  // namespace gang::harness
