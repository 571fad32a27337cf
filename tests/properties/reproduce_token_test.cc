#include "properties/reproduce_token.h"

#include "gang/error.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(ReproduceToken, FoldsRepeatedSteps) {
  const ReproduceToken token{1, 37, 36, 16, {0, 0, 0, 2, 1}};
  EXPECT_EQ(to_string(token), "1-37-36-16-0x3.2.1");
  EXPECT_EQ(parse_reproduce_token("1-37-36-16-0x3.2.1"), token);
}

TEST(ReproduceToken, WithoutAPathIsTheCaseAsFound) {
  EXPECT_EQ(parse_reproduce_token("1-2-3-4"), (ReproduceToken{1, 2, 3, 4, {}}));
  EXPECT_EQ(to_string(ReproduceToken{1, 2, 3, 4, {}}), "1-2-3-4");
}

TEST(ReproduceToken, NamesThePartThatIsWrong) {
  const std::pair<const char*, const char*> wrong[] = {{"", "the seed"},
                                                       {"x-1-1-1", "the seed"},
                                                       {"1-0-1-1", "the case"},
                                                       {"1-1--1-1", "the size"},
                                                       {"1-1-1", "the largest world"},
                                                       {"1-1-1-0", "the largest world"},
                                                       {"1-1-1-1-a", "the path"},
                                                       {"1-1-1-1-0x0", "the path"},
                                                       {"1-1-1-1-0x99999999", "the path"}};
  for (const auto& [text, part] : wrong) {
    try {
      parse_reproduce_token(text);
      ADD_FAILURE() << text << " was accepted";
    } catch (const InvalidArgument& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(part)) << text;
    }
  }
}

}  // namespace
}  // namespace gang::properties
