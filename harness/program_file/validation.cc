// Finds what is wrong with a program file before it runs.
#include <set>

#include <fmt/format.h>

#include "gang/error.h"
#include "harness/program_file/program_file.h"
#include "harness/text/suggestion.h"

namespace gang::harness::program_file {
namespace {

// Names of gangs and started operations in any block of the file.
struct Names {
  std::set<std::string> gangs = {"root"};
  std::set<std::string> works;
};

template <typename Visit>
void for_each_call(const std::vector<Block>& blocks, const Visit& visit) {
  for (const Block& block : blocks) {
    for (const Call& call : block.calls) visit(call);
    for_each_call(block.blocks, visit);
  }
}

Names collect_names(const ProgramFile& file) {
  Names names;
  if (file.layout) names.gangs.insert({"dp", "rdp", "sdp", "tp", "pp"});
  for (const DeclaredGang& gang : file.gangs) names.gangs.insert(gang.name);
  for_each_call(file.blocks, [&names](const Call& call) {
    if (!call.created.empty()) names.gangs.insert(call.created);
    if (call.starts) names.works.insert(call.works.begin(), call.works.end());
  });
  return names;
}

void check_known(const Place& place, std::string_view what, const std::string& name,
                 const std::set<std::string>& known) {
  if (known.contains(name)) return;
  fail_at(place, fmt::format("{} {}", what, unknown_name(name, {known.begin(), known.end()})));
}

void check_names(const ProgramFile& file) {
  const Names names = collect_names(file);
  for_each_call(file.blocks, [&names](const Call& call) {
    if (!call.gang.empty()) check_known(call.place, "gang", call.gang, names.gangs);
    if (call.starts) return;
    for (const std::string& work : call.works)
      check_known(call.place, "started operation", work, names.works);
  });
}

void check_rank(const Place& place, int rank, int world_size) {
  if (rank < world_size) return;
  fail_at(place, fmt::format("rank {} is outside world {}; must be 0 to {}", rank, world_size,
                             world_size - 1));
}

void check_ranks(const std::vector<Block>& blocks, int world_size) {
  for (const Block& block : blocks) {
    check_rank(block.place, block.ranks.largest, world_size);
    check_ranks(block.blocks, world_size);
  }
}

void check_layout(const Layout& layout, int world_size) {
  const std::int64_t product = std::int64_t{layout.sizes.tp_size} * layout.sizes.pp_size;
  if (product == 0 || world_size % product != 0)
    fail_at(layout.place, fmt::format("tp {} times pp {} does not divide world {}",
                                      layout.sizes.tp_size, layout.sizes.pp_size, world_size));
  if (!layout.intra_node_size) return;
  const std::int64_t dp_size = world_size / product;
  if (*layout.intra_node_size <= 1 || dp_size % *layout.intra_node_size != 0)
    fail_at(layout.place,
            fmt::format("intra_node is {}; must be a divisor of dp ({}) greater than 1",
                        *layout.intra_node_size, dp_size));
}

}  // namespace

void validate(const ProgramFile& file, int world_size) {
  check_names(file);
  check_ranks(file.blocks, world_size);
  if (file.layout) check_layout(*file.layout, world_size);
  for (const DeclaredGang& gang : file.gangs)
    for (const std::vector<int>& ranks : gang.rank_lists)
      for (const int rank : ranks) check_rank(gang.place, rank, world_size);
}

}  // namespace gang::harness::program_file
