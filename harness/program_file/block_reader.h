// Blocks of a program file, from TOML.
#pragma once

#include <vector>

#include "harness/program_file/program_file.h"
#include "harness/program_file/toml_nodes.h"

namespace gang::harness::program_file {

// The blocks of a `do` array. Throws InvalidArgument with the place.
std::vector<Block> read_blocks(const TomlNodes& nodes, const toml::node& array);

// "0-3,8,10-14:2", "all", "even", "odd". Throws at `place`.
RankSelection parse_rank_selection(std::string_view text, const Place& place);

}  // namespace gang::harness::program_file
