#include "harness/program_file/token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness::program_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Place place{"suspect.toml", 6, 11};

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  for (Tokens tokens{line, place}; !tokens.at_end();) words.push_back(tokens.next().text);
  return words;
}

TEST(Tokens, AreNamesNumbersTextsAndSymbols) {
  EXPECT_THAT(words_of("a_1 = dp all_reduce f32[10] \"step 1\" >=2"),
              testing::ElementsAre("a_1", "=", "dp", "all_reduce", "f32", "[", "10", "]", "step 1",
                                   ">=", "2"));
  EXPECT_THAT(words_of("  "), testing::IsEmpty());
}

TEST(Tokens, KnowTheirPlaces) {
  Tokens tokens{"dp  barrier", place};
  tokens.next();
  EXPECT_EQ(tokens.peek().place.line, 6U);
  EXPECT_EQ(tokens.peek().place.column, 15U);
  tokens.next();
  EXPECT_EQ(tokens.peek().place.column, 22U);
}

TEST(Tokens, ErrorsNameWhatWasExpectedAndFound) {
  Tokens tokens{"dp 99999999999999999999", place};
  EXPECT_THAT([&] { tokens.expect("root"); },
              ThrowsMessage<InvalidArgument>("suspect.toml:6:11: expected 'root', found 'dp'"));
  tokens.next();
  EXPECT_THAT([&] { tokens.expect_end(); }, ThrowsMessage<InvalidArgument>(HasSubstr("6:14")));
  EXPECT_THAT([&] { tokens.expect_number("a number"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("too large")));
}

TEST(Tokens, RejectCharactersThatBeginNoWord) {
  EXPECT_THAT([] { Tokens("dp ?", place); },
              ThrowsMessage<InvalidArgument>("suspect.toml:6:14: unexpected character '?'"));
  EXPECT_THAT([] { Tokens("throw \"oops", place); },
              ThrowsMessage<InvalidArgument>(HasSubstr("no closing quote")));
}

TEST(Tokens, AQuotedWordIsNoKeyword) {
  Tokens tokens{"\"wait\" wait", place};
  EXPECT_FALSE(tokens.at("wait"));
  tokens.next();
  EXPECT_TRUE(tokens.at("wait"));
}

}  // namespace
}  // namespace gang::harness::program_file
