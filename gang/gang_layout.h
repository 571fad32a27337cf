// The arithmetic of parallel layouts: which ranks are in which gang, without making any gang.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "gang/mesh.h"

namespace gang {

struct ParallelSizes {
  int tp_size = 1;
  int pp_size = 1;
};

// The mesh (pp, dp, tp) of `world_size` ranks, where dp gets the ranks that tp and pp leave. Throws
// InvalidArgument unless each size is at least 1 and their product divides `world_size`.
Mesh parallel_mesh(int world_size, const ParallelSizes& sizes);

// The mesh (rdp, sdp) of the ranks of a dp gang: sdp is `intra_node_size` consecutive ranks. Throws
// InvalidArgument unless `intra_node_size` is greater than 1 and divides `dp_size`.
Mesh fsdp_mesh(int dp_size, int intra_node_size);

// The whole layout as lists of root ranks: for each of root, dp, rdp, sdp, tp and pp, the list of
// its gangs, ordered by first rank, each in rank order. For drawing and checking.
struct GangLayout {
  int world_size = 1;
  std::map<std::string, std::vector<std::vector<int>>> gangs;

  friend bool operator==(const GangLayout&, const GangLayout&) = default;
};

// What create_parallel_gangs makes of `world_size` ranks, followed by create_fsdp_gangs if
// `intra_node_size` is given. Errors as in those functions.
GangLayout layout_of(int world_size, const ParallelSizes& sizes,
                     std::optional<int> intra_node_size = std::nullopt);

}  // namespace gang
