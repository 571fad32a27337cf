#include "gang/agreement.h"

#include <limits>

#include <gtest/gtest.h>

#include "gang/fake_gang.h"
#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;

TEST(BroadcastFlag, IsOneBroadcastOfABool) {
  CapturingGang gang(4, 1);
  gang.reaction = [](Operation& operation) { *operation.output.data() = std::byte{1}; };
  EXPECT_TRUE(broadcast_flag(gang, false, 3, CallSite::at("program.toml", 5)));
  EXPECT_EQ(to_string(gang.only().collective()), "broadcast #0 bool[] from rank 3");
  EXPECT_EQ(gang.only().collective().call_site, CallSite::at("program.toml", 5));
}

TEST(BroadcastFlag, SourcesOutsideTheGangAreRefused) {
  CapturingGang gang(4);
  EXPECT_THROW(broadcast_flag(gang, true, 4), InvalidArgument);
  EXPECT_TRUE(gang.sent.empty());
}

// fairseq2's B10: the default source was refused on every rank but 0.
TEST(BroadcastFlag, WorksOnAnyImaginaryRank) {
  for (int rank = 0; rank < 8; ++rank) {
    const auto gang = make_fake_gang({.rank = rank, .size = 8});
    EXPECT_TRUE(broadcast_flag(*gang, true));
    EXPECT_FALSE(broadcast_flag(*gang, false));
  }
}

// fairseq2's B20: each rank used the type of its own value, and floats were f32.
TEST(AllSum, IntegersStayIntegersOf64Bits) {
  CapturingGang gang;
  all_sum(gang, 1);
  all_sum(gang, std::int64_t{1} << 40);
  for (const test::Sent& sent : gang.sent)
    EXPECT_EQ(to_string(sent.collective()), "all_reduce #0 sum i64[]");
  const auto fake = make_fake_gang({.size = 4});
  EXPECT_EQ(all_sum(*fake, std::int64_t{1} << 40), std::int64_t{1} << 42);
  EXPECT_EQ(all_sum(*fake, 3), 12);
}

TEST(AllSum, FloatsAreSummedInF64) {
  CapturingGang gang;
  all_sum(gang, 0.5);
  EXPECT_EQ(to_string(gang.only().collective()), "all_reduce #0 sum f64[]");
  EXPECT_EQ(all_sum(*make_fake_gang({.size = 4}), 0.25), 1.0);
}

TEST(AllSum, TheCallSiteIsTheCallers) {
  CapturingGang gang;
  all_sum(gang, 1);
  EXPECT_EQ(to_string(gang.only().collective().call_site),
            "agreement_test.cc:" + std::to_string(__LINE__ - 2));
}

}  // namespace
}  // namespace gang
