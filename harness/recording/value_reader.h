// Fields of the values in a file, with errors that name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/recording/value_tree.h"

namespace gang::harness {

// A field of maps that are made alike.
struct ValueField {
  const char* name;
  std::size_t hint = 0;  // where it was last
};

// Reads a tree whose file has `size` bytes, in steps that such a file may need and no more: lists
// may be shared to keep a reader busy. What is wrong is an InvalidArgument.
class ValueReader {
 public:
  using Value = ValueTree::Value;

  ValueReader(const ValueTree& tree, std::size_t size)
      : tree_(tree), steps_left_(16 * size + 1024) {}

  // From now on, errors begin with "entry 3: ".
  void enter(std::size_t entry) { entry_ = entry; }
  void leave() { entry_.reset(); }

  [[noreturn]] void fail(std::string_view problem) const {
    if (entry_) throw InvalidArgument(fmt::format("entry {}: {}", *entry_, problem));
    throw InvalidArgument(std::string(problem));
  }

  std::span<const Value> items(const Value& value) {
    const std::span<const Value> items = tree_.items(value);
    if (items.size() >= steps_left_) fail("refers to the same values too often");
    steps_left_ -= items.size() + 1;
    return items;
  }

  // Null if it is missing.
  const Value* find(const Value& map, ValueField& field) const {
    return tree_.find(map, field.name, field.hint);
  }
  const Value* find(const Value& map, std::string_view key) const { return tree_.find(map, key); }

  // T: one of Value's types; `what`: "a number".
  template <typename T>
  T get(const Value& map, ValueField& field, std::string_view what) const {
    const Value* value = find(map, field);
    if (value == nullptr) fail(fmt::format("field {} is missing", field.name));
    const T* read = std::get_if<T>(value);
    if (read == nullptr)
      fail(fmt::format("field {} is {}; must be {}", field.name, type_of(*value), what));
    return *read;
  }

  std::uint64_t get_count(const Value& map, ValueField& field) const {
    const auto count = get<std::int64_t>(map, field, "a number");
    if (count < 0) fail(fmt::format("field {} is {}; must be 0 or more", field.name, count));
    return static_cast<std::uint64_t>(count);
  }

  // Of values that may be missing, or of another type.
  static std::string_view text_or(const Value* value, std::string_view otherwise) {
    const auto* text = value == nullptr ? nullptr : std::get_if<std::string_view>(value);
    return text == nullptr ? otherwise : *text;
  }
  static std::optional<std::int64_t> number_in(const Value* value) {
    const auto* number = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
    return number == nullptr ? std::nullopt : std::optional(*number);
  }

 private:
  const ValueTree& tree_;
  std::size_t steps_left_;
  std::optional<std::size_t> entry_;
};

}  // namespace gang::harness
