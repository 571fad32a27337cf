#include "harness/program_file/toml_nodes.h"

#include <algorithm>

#include <fmt/format.h>

#include "harness/text/suggestion.h"
#include "sim/options/simulation_options.h"

namespace gang::harness::program_file {
namespace {

// "a string", "an integer", ...
std::string_view describe(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::table:
      return "a table";
    case toml::node_type::array:
      return "an array";
    case toml::node_type::string:
      return "a string";
    case toml::node_type::integer:
      return "an integer";
    case toml::node_type::floating_point:
      return "a number";
    case toml::node_type::boolean:
      return "a boolean";
    default:
      return "a date or time";
  }
}

}  // namespace

Place TomlNodes::place_of(const toml::node& node) const {
  const toml::source_position begin = node.source().begin;
  return {file_, begin.line, begin.column};
}

void TomlNodes::fail(const toml::node& node, std::string_view message) const {
  fail_at(place_of(node), message);
}

void TomlNodes::fail_type(const toml::node& node, std::string_view what,
                          std::string_view expected) const {
  fail(node, fmt::format("{}: expected {}, found {}", what, expected, describe(node)));
}

void TomlNodes::check_keys(const toml::table& table,
                           const std::vector<std::string>& accepted) const {
  for (const auto& [key, node] : table) {
    if (std::ranges::find(accepted, key.str()) != accepted.end()) continue;
    const toml::source_position begin = key.source().begin;
    fail_at({file_, begin.line, begin.column}, "key " + unknown_name(key.str(), accepted));
  }
}

const toml::table& TomlNodes::table(const toml::node& node, std::string_view what) const {
  if (const toml::table* table = node.as_table()) return *table;
  fail_type(node, what, "a table");
}

const toml::array& TomlNodes::array(const toml::node& node, std::string_view what) const {
  if (const toml::array* array = node.as_array()) return *array;
  fail_type(node, what, "an array");
}

const toml::value<std::string>& TomlNodes::text(const toml::node& node,
                                                std::string_view what) const {
  if (const auto* text = node.as_string()) return *text;
  fail_type(node, what, "a string");
}

std::int64_t TomlNodes::integer(const toml::node& node, std::string_view what, std::int64_t minimum,
                                std::int64_t maximum) const {
  const auto* integer = node.as_integer();
  if (integer == nullptr) fail_type(node, what, "an integer");
  if (integer->get() >= minimum && integer->get() <= maximum) return integer->get();
  fail(node, fmt::format("{} is {}; must be {} to {}", what, integer->get(), minimum, maximum));
}

bool TomlNodes::flag(const toml::node& node, std::string_view what) const {
  const auto* flag = node.as_boolean();
  if (flag == nullptr) fail_type(node, what, "true or false");
  return flag->get();
}

std::vector<int> TomlNodes::ranks(const toml::node& node, std::string_view what) const {
  std::vector<int> ranks;
  for (const toml::node& rank : array(node, what))
    ranks.push_back(
        static_cast<int>(integer(rank, "rank", 0, sim::SimulationOptions::max_world_size - 1)));
  return ranks;
}

std::string TomlNodes::scalar(const toml::node& node, std::string_view what) const {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return fmt::format("{}", integer->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* boolean = node.as_boolean()) return boolean->get() ? "true" : "false";
  fail_type(node, what, "a number, a string or a boolean");
}

Place TomlNodes::inside(const toml::value<std::string>& text) const {
  Place place = place_of(text);
  place.column += 1;  // the quote
  return place;
}

}  // namespace gang::harness::program_file
