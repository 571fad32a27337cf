#include "harness/recording/json_dump_reader.h"

#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "harness/recording/dump_error.h"

namespace gang::harness {
namespace {

using Value = ValueTree::Value;

// What nlohmann's parser calls. All functions return whether to go on.
class TreeMaker final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit TreeMaker(std::size_t size) : size_(size) {}

  ValueTree take() { return std::move(tree_); }

  bool null() override { return add(std::monostate{}); }
  bool boolean(bool value) override { return add(value); }
  bool number_integer(number_integer_t value) override { return add(value); }
  bool number_unsigned(number_unsigned_t value) override {
    constexpr auto most = static_cast<number_unsigned_t>(std::numeric_limits<std::int64_t>::max());
    if (value > most) throw InvalidArgument(fmt::format("the number {} is too large", value));
    return add(static_cast<std::int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& /*text*/) override { return add(value); }
  bool string(string_t& value) override { return add(tree_.keep(std::move(value))); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool key(string_t& key) override { return add(tree_.keep(std::move(key))); }
  bool start_object(std::size_t /*size*/) override { return open(true); }
  bool start_array(std::size_t /*size*/) override { return open(false); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }

  bool parse_error(std::size_t at, const std::string& /*token*/,
                   const nlohmann::json::exception& /*error*/) override {
    if (at > size_)
      throw CutOffDump(fmt::format("it is cut off at byte {}: its JSON is not complete", size_));
    throw InvalidArgument(fmt::format("it is not JSON from byte {} on", at == 0 ? 0 : at - 1));
  }

 private:
  // The elements of an open container wait on the stack until it ends.
  struct Open {
    ValueTree::Container container;
    std::size_t begin = 0;
  };

  bool add(const Value& value) {
    if (stack_.size() == ValueTree::most_values)
      throw InvalidArgument(fmt::format("it has more than {} values", ValueTree::most_values));
    stack_.push_back(value);
    if (open_.empty()) tree_.set_root(value);
    return true;
  }

  bool open(bool is_map) {
    const ValueTree::Container container = tree_.add_container(is_map);
    add(container);
    open_.push_back({container, stack_.size()});
    return true;
  }

  bool close() {
    const Open ended = open_.back();
    open_.pop_back();
    tree_.append(ended.container, std::span(stack_).subspan(ended.begin));
    stack_.resize(ended.begin);
    return true;
  }

  std::size_t size_;
  ValueTree tree_;
  std::vector<Value> stack_;
  std::vector<Open> open_;
};

}  // namespace

bool looks_like_json(std::string_view bytes) noexcept {
  const std::size_t first = bytes.find_first_not_of(" \t\r\n");
  return first != std::string_view::npos && bytes[first] == '{';
}

ValueTree read_json_values(std::string_view bytes) {
  TreeMaker maker(bytes.size());
  nlohmann::json::sax_parse(bytes.begin(), bytes.end(), &maker);
  return maker.take();
}

}  // namespace gang::harness
