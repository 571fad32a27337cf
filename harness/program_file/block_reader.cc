#include "harness/program_file/block_reader.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "sim/options/simulation_options.h"

namespace gang::harness::program_file {
namespace {

constexpr std::string_view expected_ranks = "[0, 3], \"0-3,8\", \"all\", \"even\" or \"odd\"";
constexpr int deepest = 32;  // nested blocks

int read_rank(Tokens& tokens) {
  const Place place = tokens.peek().place;
  const std::int64_t rank = tokens.expect_number(expected_ranks);
  if (rank >= sim::SimulationOptions::max_world_size) fail_at(place, "the rank is too large");
  return static_cast<int>(rank);
}

// "3", "0-3", "0-6:2".
RankSelection::Range read_range(Tokens& tokens) {
  const Place place = tokens.peek().place;
  RankSelection::Range range;
  range.first = range.last = read_rank(tokens);
  if (tokens.take("-")) range.last = read_rank(tokens);
  if (tokens.take(":")) range.step = read_rank(tokens);
  if (range.last < range.first) fail_at(place, "the range ends before it begins");
  if (range.step == 0) fail_at(place, "the range has a step of 0");
  return range;
}

RankSelection read_selection(const TomlNodes& nodes, const toml::node& node) {
  if (const auto* text = node.as_string())
    return parse_rank_selection(text->get(), nodes.inside(*text));
  if (!node.is_array()) nodes.fail(node, fmt::format("ranks: expected {}", expected_ranks));
  RankSelection selection;
  for (const int rank : nodes.ranks(node, "ranks")) {
    selection.ranges.push_back({rank, rank, 1});
    selection.largest = std::max(selection.largest, rank);
  }
  return selection;
}

Expression read_condition(const TomlNodes& nodes, const toml::node& node) {
  const auto& text = nodes.text(node, "when");
  Tokens tokens{text.get(), nodes.inside(text)};
  Expression condition = Expression::parse(tokens);
  tokens.expect_end();
  return condition;
}

std::vector<Block> read_blocks_within(const TomlNodes& nodes, const toml::node& array, int depth);

Block read_block(const TomlNodes& nodes, const toml::node& node, int depth) {
  if (depth > deepest) nodes.fail(node, "blocks are nested too deeply");
  const toml::table& table = nodes.table(node, "do");
  nodes.check_keys(table, {"ranks", "repeat", "when", "calls", "do"});
  Block block{.place = nodes.place_of(node)};
  if (const toml::node* ranks = table.get("ranks")) {
    block.ranks = read_selection(nodes, *ranks);
    block.place = nodes.place_of(*ranks);
  } else {
    block.ranks = parse_rank_selection("all", block.place);
  }
  if (const toml::node* repeat = table.get("repeat"))
    block.repeat = nodes.integer(*repeat, "repeat", 0, std::numeric_limits<int>::max());
  if (const toml::node* when = table.get("when")) block.when = read_condition(nodes, *when);
  if (const toml::node* calls = table.get("calls")) {
    for (const toml::node& call : nodes.array(*calls, "calls")) {
      const auto& text = nodes.text(call, "a call");
      block.calls.push_back(parse_call(text.get(), nodes.inside(text)));
    }
  }
  if (const toml::node* blocks = table.get("do"))
    block.blocks = read_blocks_within(nodes, *blocks, depth + 1);
  return block;
}

std::vector<Block> read_blocks_within(const TomlNodes& nodes, const toml::node& array, int depth) {
  std::vector<Block> blocks;
  for (const toml::node& block : nodes.array(array, "do"))
    blocks.push_back(read_block(nodes, block, depth));
  return blocks;
}

}  // namespace

std::vector<Block> read_blocks(const TomlNodes& nodes, const toml::node& array) {
  return read_blocks_within(nodes, array, 1);
}

RankSelection parse_rank_selection(std::string_view text, const Place& place) {
  constexpr int last = std::numeric_limits<int>::max();
  if (text == "all") return {{{0, last, 1}}};
  if (text == "even") return {{{0, last, 2}}};
  if (text == "odd") return {{{1, last, 2}}};
  RankSelection selection;
  Tokens tokens{text, place};
  do {
    selection.ranges.push_back(read_range(tokens));
    selection.largest = std::max(selection.largest, selection.ranges.back().last);
  } while (tokens.take(","));
  tokens.expect_end();
  return selection;
}

}  // namespace gang::harness::program_file
