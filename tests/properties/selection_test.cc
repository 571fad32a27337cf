#include "properties/selection.h"

#include "gang/error.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

const std::vector<Property> three = {{"meshes", "partition", "", nullptr},
                                     {"meshes", "invert", "", nullptr},
                                     {"runs", "replay", "", nullptr}};

std::vector<std::string> names(const std::vector<std::string>& filters) {
  std::vector<std::string> selected;
  for (const Property& property : select(three, filters)) selected.push_back(property.full_name());
  return selected;
}

TEST(Glob, MatchesStarsAndQuestionMarks) {
  EXPECT_TRUE(matches_glob("a*c", "abbc"));
  EXPECT_TRUE(matches_glob("*", ""));
  EXPECT_TRUE(matches_glob("a?c*", "abc"));
  EXPECT_TRUE(matches_glob("*.b*d", "a.b.b.d"));
  EXPECT_FALSE(matches_glob("a?c", "ac"));
  EXPECT_FALSE(matches_glob("a*", "ba"));
  EXPECT_FALSE(matches_glob("", "a"));
}

TEST(Select, TakesEverythingWithoutFilters) { EXPECT_EQ(names({}).size(), 3U); }

TEST(Select, TakesFullNamesSuitesNamesAndPatterns) {
  EXPECT_EQ(names({"meshes.invert"}), std::vector<std::string>{"meshes.invert"});
  EXPECT_EQ(names({"meshes"}).size(), 2U);
  EXPECT_EQ(names({"replay"}), std::vector<std::string>{"runs.replay"});
  EXPECT_EQ(names({"*.p*,runs.*"}), (std::vector<std::string>{"meshes.partition", "runs.replay"}));
  EXPECT_EQ(names({"runs", "meshes"}).front(), "meshes.partition");  // in list order
}

TEST(Select, NamesWhatIsNearWhereNothingMatches) {
  try {
    names({"runs", "mehses"});
    FAIL() << "was accepted";
  } catch (const InvalidArgument& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("no property matches 'mehses'"));
    EXPECT_THAT(error.what(), ::testing::HasSubstr("'meshes'"));
  }
  EXPECT_THROW(names({""}), InvalidArgument);
}

}  // namespace
}  // namespace gang::properties
