#include "gang/gangs.h"

#include <array>
#include <atomic>

#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "tests/gang/capturing_gang.h"
#include "tests/gang/factorizations.h"
#include "tests/gang/meeting_gang.h"

namespace gang {
namespace {

using test::on_ranks;

constexpr std::array field_names = {"root", "dp", "rdp", "sdp", "tp", "pp"};

// The root ranks of a gang of this rank; a size-1 gang holds the rank itself.
std::vector<int> members(const Gang& gang, int own_root_rank) {
  return gang.size() == 1 ? std::vector{own_root_rank} : gang.info().root_ranks;
}

// Every field of `gangs` must be the list of `layout` that contains this rank, at its place.
std::string difference(const Gangs& gangs, const GangLayout& layout) {
  const int rank = gangs.root->rank();
  for (const char* name : field_names) {
    const Gang& gang = *gangs.at(name);
    const std::vector<int> actual = members(gang, rank);
    if (actual.at(static_cast<std::size_t>(gang.rank())) != rank)
      return std::string(name) + " has another rank in this one's place";
    const auto& lists = layout.gangs.at(name);
    if (std::ranges::find(lists, actual) == lists.end())
      return std::string(name) + " is " + label_of(gang.info());
  }
  return "";
}

TEST(CreateParallelGangs, MakesTheLayoutOfAnyFactorization) {
  for (const int world : {1, 2, 6, 8, 12}) {
    for (const std::vector<int>& sizes : test::factorizations(world, 4)) {
      const ParallelSizes parallel{.tp_size = sizes[0], .pp_size = sizes[1]};
      const auto intra = sizes[2] > 1 ? std::optional(sizes[2]) : std::nullopt;
      const GangLayout expected = layout_of(world, parallel, intra);
      on_ranks(world, [&](const std::shared_ptr<Gang>& root) {
        Gangs gangs = create_parallel_gangs(root, parallel);
        if (intra) gangs = create_fsdp_gangs(gangs, intra);
        EXPECT_EQ(difference(gangs, expected), "")
            << "world " << world << " rank " << root->rank() << " tp " << sizes[0] << " pp "
            << sizes[1] << " intra-node " << sizes[2];
      });
    }
  }
}

// fairseq2's B15, by design: no communicator where none is needed, and none twice.
TEST(CreateParallelGangs, AnAxisOfOneIsAFakeGangAndOneOfTheRootsSizeIsTheRoot) {
  on_ranks(4, [](const std::shared_ptr<Gang>& root) {
    const Gangs gangs = create_parallel_gangs(root, {.tp_size = 4});
    EXPECT_EQ(gangs.tp, root);
    for (const auto& single : {gangs.dp, gangs.pp, gangs.sdp, gangs.rdp}) {
      EXPECT_EQ(single->size(), 1);
      EXPECT_EQ(single->info().backend, "fake");
    }
    EXPECT_EQ(gangs.rdp, gangs.dp);
    EXPECT_EQ(gangs.dp->name(), "dp");
    EXPECT_EQ(gangs.pp->name(), "pp");
  });
}

TEST(CreateParallelGangs, GangsAreNamedAndInheritTheTimeoutAndTheDevice) {
  on_ranks(4, [](const std::shared_ptr<Gang>& root) {
    const Gangs gangs = create_parallel_gangs(root, {.tp_size = 2});
    EXPECT_EQ(gangs.tp->name(), "tp");
    EXPECT_EQ(gangs.dp->name(), "dp");
    for (const char* name : field_names) {
      EXPECT_EQ(gangs.at(name)->timeout(), root->timeout());
      EXPECT_EQ(gangs.at(name)->device(), root->device());
    }
  });
}

TEST(CreateParallelGangs, WhatTheRootHasIsInheritedByGangsOfOneToo) {
  const auto root = make_fake_gang(
      {.size = 4, .device = {DeviceType::cuda, 1}, .timeout = std::chrono::seconds(3)});
  const Gangs gangs = create_fsdp_gangs(create_parallel_gangs(root, {.tp_size = 2}));
  for (const char* name : field_names) {
    EXPECT_EQ(gangs.at(name)->timeout(), root->timeout()) << name;
    EXPECT_EQ(gangs.at(name)->device(), root->device()) << name;
  }
}

TEST(CreateParallelGangs, BadSizesSendNothing) {
  const auto root = std::make_shared<test::CapturingGang>(8);
  for (const auto& [tp, pp] : {std::pair(3, 1), {1, 3}, {0, 1}, {1, 0}, {16, 1}, {4, 4}})
    EXPECT_THROW(create_parallel_gangs(root, {.tp_size = tp, .pp_size = pp}), InvalidArgument);
  EXPECT_THROW(create_parallel_gangs(nullptr), InvalidArgument);
  EXPECT_TRUE(root->sent.empty());
}

TEST(CreateParallelGangs, TheProgramIsTheCallSite) {
  const auto root = std::make_shared<test::CapturingGang>(8);
  EXPECT_THROW(create_parallel_gangs(root, {.tp_size = 2}, CallSite::at("program.toml", 3)),
               InvalidOperation)
      << "this backend makes no child";
  for (const test::Sent& sent : root->sent)
    EXPECT_EQ(sent.collective().call_site, CallSite::at("program.toml", 3));
  EXPECT_EQ(root->sent.size(), 2u);
}

// fairseq2's B2: only dp was checked.
TEST(CheckRankZero, EveryFieldIsChecked) {
  const auto zero = make_fake_gang({.rank = 0, .size = 2});
  const auto one = make_fake_gang({.rank = 1, .size = 2});
  const Gangs good{zero, zero, zero, zero, zero, zero, {{"cp", zero}}};
  check_rank_zero(good);
  const std::array<std::shared_ptr<Gang> Gangs::*, 5> fields = {
      &Gangs::dp, &Gangs::rdp, &Gangs::sdp, &Gangs::tp, &Gangs::pp};
  for (const auto field : fields) {
    Gangs bad = good;
    bad.*field = one;
    EXPECT_THROW(check_rank_zero(bad), InvalidOperation);
    EXPECT_THROW(create_fsdp_gangs(bad), InvalidOperation);
    bad.*field = nullptr;
    EXPECT_THROW(check_rank_zero(bad), InvalidOperation);
  }
  Gangs bad = good;
  bad.others["cp"] = one;
  EXPECT_EQ(test::message_of<InvalidOperation>([&bad] { check_rank_zero(bad); }),
            "rank 0 of the root is rank 1 of gang cp; must be rank 0");
  bad = good;
  bad.root = nullptr;
  EXPECT_THROW(check_rank_zero(bad), InvalidOperation);
}

TEST(CheckRankZero, OtherRanksMayBeAnyRank) {
  const auto root = make_fake_gang({.rank = 3, .size = 4});
  const auto one = make_fake_gang({.rank = 1, .size = 2});
  check_rank_zero({root, one, one, one, one, one, {}});
}

TEST(CreateMeshGangs, OtherAxesGoToOthers) {
  on_ranks(8, [](const std::shared_ptr<Gang>& root) {
    const Gangs gangs = create_mesh_gangs(root, parse_mesh("dp=2 cp=2 ep=2"));
    EXPECT_EQ(gangs.at("cp")->size(), 2);
    EXPECT_EQ(gangs.others.at("ep")->info().root_ranks.at(0) + 1,
              gangs.others.at("ep")->info().root_ranks.at(1));
    EXPECT_EQ(gangs.tp->size(), 1);
    EXPECT_EQ(gangs.pp->size(), 1);
    EXPECT_EQ(gangs.rdp, gangs.dp);
  });
}

TEST(CreateMeshGangs, MeshesOfADifferentSizeAndReservedNamesSendNothing) {
  const auto root = std::make_shared<test::CapturingGang>(8);
  for (const char* mesh : {"dp=4", "dp=16", "root=8", "rdp=8", "dp=2 sdp=4"})
    EXPECT_THROW(create_mesh_gangs(root, parse_mesh(mesh)), InvalidArgument) << mesh;
  EXPECT_TRUE(root->sent.empty());
}

TEST(CreateFsdpGangs, WithoutIntraNodeSizeShardsOverAllOfDp) {
  on_ranks(4, [](const std::shared_ptr<Gang>& root) {
    const Gangs parallel = create_parallel_gangs(root, {.tp_size = 2});
    const Gangs gangs = create_fsdp_gangs(parallel);
    EXPECT_EQ(gangs.sdp, parallel.dp);
    EXPECT_EQ(gangs.rdp->size(), 1);
    EXPECT_EQ(gangs.tp, parallel.tp);
    EXPECT_EQ(parallel.rdp, parallel.dp) << "the argument is unchanged";
  });
}

// fairseq2's B8: a dp gang made from the root could not make gangs itself.
TEST(CreateFsdpGangs, WorksOnAnyDpGang) {
  on_ranks(8, [](const std::shared_ptr<Gang>& root) {
    const Gangs gangs = create_fsdp_gangs(create_parallel_gangs(root, {.tp_size = 2}), 2);
    const int tp = root->rank() % 2;
    const int node = root->rank() / 4 * 4;
    EXPECT_EQ(gangs.sdp->info().root_ranks, (std::vector{node + tp, node + tp + 2}));
    EXPECT_EQ(gangs.rdp->info().root_ranks, (std::vector{root->rank() % 4, root->rank() % 4 + 4}));
  });
}

TEST(CreateFsdpGangs, BadSizesSendNothing) {
  const auto dp = std::make_shared<test::CapturingGang>(4);
  const Gangs gangs{dp, dp, dp, dp, dp, dp, {}};
  for (const int intra : {1, 0, -1, 3, 8})
    EXPECT_THROW(create_fsdp_gangs(gangs, intra), InvalidArgument) << intra;
  EXPECT_TRUE(dp->sent.empty());
}

TEST(CreateParallelGangs, AFailureHalfwayClosesWhatWasMade) {
  std::atomic<int> children_open = 0;
  on_ranks(8, [&](const std::shared_ptr<Gang>& root) {
    static_cast<test::MeetingGang&>(*root).fails_after = 1;
    EXPECT_THROW(create_parallel_gangs(root, {.tp_size = 2, .pp_size = 2}), GangError);
    EXPECT_FALSE(root->is_closed());
    children_open += test::MeetingGang::open_gangs() - 1;
  });
  EXPECT_EQ(children_open, 0);
}

TEST(Gangs, CloseClosesEveryGangAndTheRoot) {
  on_ranks(8, [](const std::shared_ptr<Gang>& root) {
    Gangs gangs = create_fsdp_gangs(create_parallel_gangs(root, {.tp_size = 2}), 2);
    gangs.close();
    for (const char* name : field_names) EXPECT_TRUE(gangs.at(name)->is_closed()) << name;
    gangs.close();
  });
}

// None of them is a child of another here.
TEST(Gangs, CloseClosesWhatNoOtherGangCloses) {
  Gangs gangs = create_fake_gangs();
  for (std::shared_ptr<Gang>* gang : {&gangs.dp, &gangs.rdp, &gangs.sdp, &gangs.tp, &gangs.pp})
    *gang = make_fake_gang();
  gangs.others["cp"] = make_fake_gang();
  const Gangs all = gangs;
  gangs.close();
  for (const char* name : field_names) EXPECT_TRUE(all.at(name)->is_closed()) << name;
  EXPECT_TRUE(all.at("cp")->is_closed());
}

TEST(Gangs, NamesAreLookedUp) {
  Gangs gangs = create_fake_gangs();
  gangs.others["cp"] = make_fake_gang({.name = "cp"});
  EXPECT_EQ(gangs.at("cp")->name(), "cp");
  EXPECT_EQ(gangs.at("rdp"), gangs.rdp);
  EXPECT_EQ(test::message_of<InvalidArgument>([&gangs] { gangs.at("ep"); }),
            "there is no gang 'ep'; must be one of: root, dp, rdp, sdp, tp, pp, cp");
}

TEST(CreateFakeGangs, OneFakeGangIsInEveryField) {
  const Gangs gangs = create_fake_gangs({DeviceType::cuda, 1});
  for (const char* name : field_names) EXPECT_EQ(gangs.at(name), gangs.root);
  EXPECT_EQ(gangs.root->size(), 1);
  EXPECT_EQ(gangs.root->device(), (Device{DeviceType::cuda, 1}));
}

TEST(CreateParallelGangs, AnImaginaryRootMakesImaginaryGangs) {
  for (int rank = 0; rank < 8; ++rank) {
    const auto root = make_fake_gang({.rank = rank, .size = 8});
    const Gangs gangs =
        create_fsdp_gangs(create_parallel_gangs(root, {.tp_size = 2, .pp_size = 2}), 2);
    const Mesh mesh = parallel_mesh(8, {.tp_size = 2, .pp_size = 2});
    for (const char* axis : {"tp", "dp", "pp"}) {
      EXPECT_EQ(gangs.at(axis)->size(), 2);
      EXPECT_EQ(gangs.at(axis)->rank(), mesh.coordinate(rank, axis));
    }
    EXPECT_EQ(gangs.sdp, gangs.dp);
  }
}

}  // namespace
}  // namespace gang
