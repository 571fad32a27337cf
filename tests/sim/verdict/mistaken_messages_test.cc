#include "sim/verdict/mistaken_messages.h"

#include <functional>

#include "sim/further_runs/settled_run.h"
#include "tests/sim/verdict/recorded_worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// What each rank passes at its send and at its receive.
using Tag = std::function<int(int)>;
struct Tags {
  Tag of_send;
  Tag of_receive;
};

Tag all(int tag) {
  return [tag](int) { return tag; };
}
Tag all_but(int rank, int own) {
  return [rank, own](int of) { return of == rank ? own : 0; };
}

// Each rank receives from the one before it, and then sends to the next one, `times`.
RankProgram line_of_messages(const Tags& tags, int times = 1) {
  return [tags, times](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::int32_t value = 0;
    for (int i = 0; i < times; ++i) {
      if (rank.rank() > 0)
        root.recv(view_of(value), rank.rank() - 1, tags.of_receive(rank.rank()), {}, line(2));
      if (rank.rank() < root.size() - 1)
        root.send(view_of(value), rank.rank() + 1, tags.of_send(rank.rank()), {}, line(3));
    }
  };
}

Finding finding_of(int world_size, const RankProgram& program) {
  const Report report = run_settled({.world_size = world_size}, program);
  EXPECT_EQ(report.findings.size(), 1U) << to_string(report);
  return report.findings.empty() ? Finding{} : report.findings.front();
}

TEST(MistakenMessages, TheEndWithTheOddTagIsNamedAndItsLine) {
  for (const int culprit : {1, 3, 6}) {
    const Finding sent = finding_of(8, line_of_messages({all_but(culprit, 7), all(0)}));
    EXPECT_EQ(sent.id, "mismatch_tag");
    EXPECT_THAT(sent.ranks, ElementsAre(culprit));
    EXPECT_EQ(to_string(sent.location), "train.py:3");
    const Finding received = finding_of(8, line_of_messages({all(0), all_but(culprit, 7)}));
    EXPECT_EQ(received.id, "mismatch_tag");
    EXPECT_THAT(received.ranks, ElementsAre(culprit));
    EXPECT_EQ(to_string(received.location), "train.py:2");
  }
}

TEST(MistakenMessages, TheTextSaysWhatTheOthersPass) {
  const Finding finding = finding_of(8, line_of_messages({all_but(3, 7), all(0)}));
  EXPECT_EQ(finding.message,
            "Rank 3 called root send at train.py:3 with tag 7; ranks 0-2 passed tag 0.");
}

TEST(MistakenMessages, LaterRoundsAreComparedWithTheirOwn) {
  const RankProgram program = [&](SimulatedRank& rank) {
    std::int32_t value = 0;
    for (int i = 0; i < 4; ++i) {
      const int tag = rank.rank() == 4 && i == 2 ? 9 : i;
      if (rank.rank() % 2 == 0)
        rank.root()->send(view_of(value), rank.rank() + 1, tag, {}, line(2));
      else
        rank.root()->recv(view_of(value), rank.rank() - 1, tag, {}, line(3));
    }
  };
  const Finding finding = finding_of(8, program);
  EXPECT_THAT(finding.ranks, ElementsAre(4));
  EXPECT_EQ(to_string(finding.location), "train.py:2");
}

TEST(MistakenMessages, ABranchOfOneRankIsComparedWithWhatTheOthersDoElsewhere) {
  const Finding finding = finding_of(8, [](SimulatedRank& rank) {
    Gang& root = *rank.root();
    std::int32_t value = 0;
    const int next = (rank.rank() + 1) % root.size();
    const int last = (rank.rank() + root.size() - 1) % root.size();
    const bool is_odd = rank.rank() == 5;
    Work receive = root.start_recv(view_of(value), last, 3, {}, line(2));
    Work send = root.start_send(view_of(value), next, is_odd ? 4 : 3, {}, line(is_odd ? 4 : 3));
    receive.wait();
    send.wait();
  });
  EXPECT_EQ(finding.id, "mismatch_tag");
  EXPECT_THAT(finding.ranks, ElementsAre(5));
  EXPECT_EQ(to_string(finding.location), "train.py:4");
}

TEST(MistakenMessages, WhereTagsRightlyDifferNobodyIsNamed) {
  const Tag own = [](int rank) { return rank; };
  const Tag of_source = [](int rank) { return rank == 4 ? 9 : rank - 1; };
  EXPECT_THAT(finding_of(8, line_of_messages({own, of_source})).ranks, ElementsAre(3, 4));
}

TEST(MistakenMessages, OfALineThatIsWrongFromItsStartBothEndsAreNamed) {
  EXPECT_THAT(finding_of(8, line_of_messages({all(3), all(0)})).ranks, ElementsAre(0, 1));
}

TEST(MistakenMessages, OfALineThatIsWrongEverywhereBothEndsAreShownOnce) {
  const Finding finding = finding_of(16, [](SimulatedRank& rank) {
    std::int32_t value = 0;
    const bool sends = rank.rank() % 2 == 0;
    if (sends) rank.root()->send(view_of(value), rank.rank() + 1, rank.rank(), {}, line(2));
    if (!sends) rank.root()->recv(view_of(value), rank.rank() - 1, rank.rank(), {}, line(3));
  });
  EXPECT_EQ(finding.ranks.size(), 16U);
  EXPECT_EQ(finding.message,
            "Ranks 0-14:2 send with tags 0, 2, 4, 6, ... at train.py:2; ranks 1-15:2 receive from "
            "them with tags 1, 3, 5, 7, ... at train.py:3.");
}

}  // namespace
}  // namespace gang::sim
