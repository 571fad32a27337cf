// Reads TOML, with errors that give the file, line and column, and what was expected.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "harness/program_file/token.h"

namespace gang::harness::program_file {

// The nodes of one file. Every error is reported at its node. `file` is borrowed.
class TomlNodes {
 public:
  explicit TomlNodes(const char* file) : file_(file) {}

  Place place_of(const toml::node& node) const;
  [[noreturn]] void fail(const toml::node& node, std::string_view message) const;

  // Every key of `table` must be one of `accepted`.
  void check_keys(const toml::table& table, const std::vector<std::string>& accepted) const;

  // The node as the type that it must have; `what` names it in errors: "world".
  const toml::table& table(const toml::node& node, std::string_view what) const;
  const toml::array& array(const toml::node& node, std::string_view what) const;
  const toml::value<std::string>& text(const toml::node& node, std::string_view what) const;
  std::int64_t integer(const toml::node& node, std::string_view what, std::int64_t minimum,
                       std::int64_t maximum) const;
  bool flag(const toml::node& node, std::string_view what) const;
  std::vector<int> ranks(const toml::node& node, std::string_view what) const;

  // A number, boolean or string as people would type it on a command line.
  std::string scalar(const toml::node& node, std::string_view what) const;

  // Where the characters of a one-line string begin.
  Place inside(const toml::value<std::string>& text) const;

 private:
  [[noreturn]] void fail_type(const toml::node& node, std::string_view what,
                              std::string_view expected) const;

  const char* file_;
};

}  // namespace gang::harness::program_file
