#include "harness/backends/meeting_place.h"

#include <fstream>

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

TEST(MeetingPlace, IsAFolderOfItsOwn) {
  const MeetingPlace one;
  const MeetingPlace other;
  EXPECT_TRUE(std::filesystem::is_directory(one.path()));
  EXPECT_NE(one.path(), other.path());
  EXPECT_EQ(one.store().parent_path(), one.path());
}

TEST(MeetingPlace, GoesWithWhatIsInIt) {
  std::filesystem::path path;
  {
    const MeetingPlace place;
    path = place.path();
    std::ofstream(place.store()) << "keys";
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace gang::harness
