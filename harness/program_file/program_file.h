// A program written in TOML: gangs, and what each rank calls.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gang/call_site.h"
#include "gang/gangs.h"
#include "harness/program/program.h"
#include "harness/program_file/call.h"
#include "harness/program_file/expression.h"

namespace gang::harness::program_file {

// The ranks that run a block: a list, "0-3,8", "all", "even" or "odd".
struct RankSelection {
  struct Range {
    int first = 0;
    int last = 0;
    int step = 1;
  };
  std::vector<Range> ranges;
  int largest = 0;  // the largest rank named; 0 for "all", "even" and "odd"

  bool contains(int rank) const noexcept;
};

// Calls of some ranks, followed by the nested blocks, all of it `repeat` times.
struct Block {
  Place place;
  RankSelection ranks;
  std::int64_t repeat = 1;
  std::optional<Expression> when;  // evaluated in every repetition
  std::vector<Call> calls;
  std::vector<Block> blocks;
};

// A gang created before the first block: lists of root ranks, each of which becomes one gang.
struct DeclaredGang {
  std::string name;
  std::vector<std::vector<int>> rank_lists;
  Place place;
};

struct Layout {
  ParallelSizes sizes;
  std::optional<int> intra_node_size;
  Place place;
};

// A whole file. Shared by all ranks of its program, which keeps it alive.
struct ProgramFile {
  std::string path;  // borrowed by every place
  std::optional<Layout> layout;
  std::vector<DeclaredGang> gangs;
  std::vector<Block> blocks;
  bool has_data = true;  // otherwise tensors have sizes, but no contents
};

// Whether any call of `blocks` is a batch.
bool has_batches(const std::vector<Block>& blocks);

// Throws InvalidArgument if `file` cannot run on this many ranks (a rank outside the world, sizes
// that do not divide it), or names a gang or a started operation that nothing creates.
void validate(const ProgramFile& file, int world_size);

struct ProgramTexts {
  std::string name;
  std::string description;
  std::string source;  // the file's text
};

// The program that interprets `file` on every rank and keeps it.
Program make_program(std::shared_ptr<const ProgramFile> file, ProgramTexts texts);

// Runs `file` on one rank. Throws what the calls throw. Every call's buffers are filled from the
// rank and the element's index; results are output under the call's place.
void interpret(const ProgramFile& file, Rank& rank);

}  // namespace gang::harness::program_file
