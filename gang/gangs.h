// The gangs of a parallel layout: root, dp, rdp, sdp, tp, pp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "gang/gang.h"
#include "gang/gang_layout.h"
#include "gang/mesh.h"

namespace gang {

// The gangs of one rank. Every field is set; rank 0 of the root is rank 0 in all of them.
//
// An axis of size 1 is a FakeGang of size 1 (no communication); an axis of the root's size is the
// root itself. Copies share the gangs.
struct Gangs {
  std::shared_ptr<Gang> root;
  std::shared_ptr<Gang> dp;   // data parallel
  std::shared_ptr<Gang> rdp;  // replicated data parallel, over which sharded gradients are reduced
  std::shared_ptr<Gang> sdp;  // sharded data parallel
  std::shared_ptr<Gang> tp;   // tensor parallel
  std::shared_ptr<Gang> pp;   // pipeline parallel
  std::map<std::string, std::shared_ptr<Gang>> others;  // other named axes: cp, ep, ...

  // The gang called `name`: "root", "dp", ..., or one of `others`. InvalidArgument lists the names.
  const std::shared_ptr<Gang>& at(std::string_view name) const;

  // Closes every gang, the root last. Idempotent.
  void close();
};

// Gangs of the mesh (pp, dp, tp) over `root`, where dp gets the ranks that tp and pp leave; rdp =
// dp, sdp has size 1. With 8 ranks and tp 2: tp gangs [0,1][2,3][4,5][6,7], dp gangs
// [0,2,4,6][1,3,5,7].
//
// Collective over `root`. Throws InvalidArgument, with nothing sent, unless each size is at least 1
// and their product divides the size of `root`. A failure halfway closes the gangs made so far.
// O(size) in total.
Gangs create_parallel_gangs(const std::shared_ptr<Gang>& root, const ParallelSizes& sizes = {},
                            CallSite call_site = CallSite::here());

// The same for any mesh of the size of `root`: axes named dp, tp or pp fill those fields, the
// others go to `others`.
Gangs create_mesh_gangs(const std::shared_ptr<Gang>& root, const Mesh& mesh,
                        CallSite call_site = CallSite::here());

// `gangs` with sdp and rdp for fully sharded data parallelism: without `intra_node_size`, sdp = dp
// and rdp has size 1; with n, sdp is n consecutive dp ranks and rdp every n-th dp rank.
//
// Collective over dp. Throws InvalidArgument, with nothing sent, unless n > 1 and n divides the
// size of dp.
Gangs create_fsdp_gangs(const Gangs& gangs, std::optional<int> intra_node_size = std::nullopt,
                        CallSite call_site = CallSite::here());

// Throws InvalidOperation unless every field is set and rank 0 of the root is rank 0 in each of
// them. The functions that make Gangs have already called it. Local.
void check_rank_zero(const Gangs& gangs);

// One FakeGang of size 1 in every field.
Gangs create_fake_gangs(Device device = {});

}  // namespace gang
