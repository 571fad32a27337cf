#include "gang/root_meeting.h"

#include <chrono>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using testing::HasSubstr;

TEST(RootMeeting, OfOneProcessReturnsAtOnce) {
  EXPECT_NE(meet_as_root_gang({.rank = 0, .world_size = 1}, 100ms), nullptr);
}

TEST(RootMeeting, ThatFailsIsTheGangsFailure) {
  // Nothing listens on a port that only the system may use.
  Environment environment{.rank = 1, .world_size = 2};
  environment.master_address = "127.0.0.1";
  environment.master_port = 1;
  try {
    meet_as_root_gang(environment, 100ms);
    FAIL() << "nobody was there";
  } catch (const GangError& error) {
    EXPECT_THAT(error.kind(), testing::AnyOf(GangErrorKind::connection, GangErrorKind::timeout));
    EXPECT_EQ(error.gang(), "root[0,1]");
    EXPECT_EQ(error.rank(), 1);
    EXPECT_EQ(error.elapsed(), Duration(100ms));
    EXPECT_EQ(error.operation().kind, OperationKind::create_gang);
    EXPECT_THAT(error.what(), HasSubstr("127.0.0.1"));
  }
}

TEST(RootMeeting, BadInputStaysBadInput) {
  EXPECT_THROW(meet_as_root_gang({.rank = 0, .world_size = 2}, 100ms), InvalidArgument);
}

}  // namespace
}  // namespace gang
