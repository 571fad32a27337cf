#include "harness/program_file/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness::program_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Place place{"suspect.toml", 6, 11};

std::int64_t value_of(std::string_view text, const Variables& variables = {}) {
  Tokens tokens{text, place};
  const Expression expression = Expression::parse(tokens);
  tokens.expect_end();
  return expression.evaluate(variables);
}

struct Case {
  std::string_view text;
  std::int64_t value;
};

class ExpressionValues : public testing::TestWithParam<Case> {};

TEST_P(ExpressionValues, AreAsInArithmetic) {
  EXPECT_EQ(value_of(GetParam().text, {.rank = 3, .world = 8, .iteration = 2}), GetParam().value)
      << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(Expression, ExpressionValues,
                         testing::Values(Case{"1 + 2 * 3", 7}, Case{"(1 + 2) * 3", 9},
                                         Case{"7 - 2 - 1", 4}, Case{"rank", 3},
                                         Case{"world - rank + iteration", 7}, Case{"-rank", -3},
                                         Case{"(rank - 4) % world", 7}, Case{"-7 / 2", -4},
                                         Case{"7 / -2", -4}, Case{"-7 % 2", 1}, Case{"7 % -2", -1},
                                         Case{"rank == 3", 1}, Case{"rank != 3", 0},
                                         Case{"rank < 3 or rank >= 3", 1}, Case{"not rank == 3", 0},
                                         Case{"not rank > 5 and iteration <= 2", 1},
                                         Case{"1 or 0 and 0", 1}, Case{"0 and 1 / 0", 0},
                                         Case{"1 or 1 / 0", 1}, Case{"not not 5", 1}));

TEST(Expression, StopsAfterItsLastWord) {
  Tokens tokens{"rank + 1 tag 3", place};
  EXPECT_EQ(Expression::parse(tokens).evaluate({.rank = 4}), 5);
  EXPECT_TRUE(tokens.at("tag"));
}

TEST(Expression, ErrorsNameThePlaceAndWhatWasExpected) {
  EXPECT_THAT([] { value_of("rank + size"); },
              ThrowsMessage<InvalidArgument>(
                  "suspect.toml:6:18: expected a whole-number expression over rank, world and "
                  "iteration, found 'size'"));
  EXPECT_THAT([] { value_of("(rank"); }, ThrowsMessage<InvalidArgument>(HasSubstr("')'")));
}

TEST(Expression, NamesThePlaceOfAFailedCalculation) {
  EXPECT_THAT([] { value_of("4 / rank"); },
              ThrowsMessage<InvalidArgument>("suspect.toml:6:13: division by zero"));
  EXPECT_THAT([] { value_of("9223372036854775807 + 1"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("does not fit in 64 bits")));
  EXPECT_THAT([] { value_of("(-9223372036854775807 - 1) / -1"); },
              ThrowsMessage<InvalidArgument>(HasSubstr("does not fit in 64 bits")));
}

TEST(Expression, HasALimitOnNesting) {
  std::string deep(10'000, '(');
  deep.append("1").append(10'000, ')');
  EXPECT_THAT([&] { value_of(deep); },
              ThrowsMessage<InvalidArgument>(HasSubstr("nested too deeply")));
}

TEST(Expression, HasNoLimitOnTerms) {
  std::string either = "rank == -1";
  std::string sum = "0";
  for (int i = 0; i < 100'000; ++i) {
    either += " or rank == -1";
    sum += " + 1";
  }
  EXPECT_EQ(value_of(either), 0);
  EXPECT_EQ(value_of(either + " or 1 == 1"), 1);
  EXPECT_EQ(value_of("1 == 1 or 1 / 0 == 1"), 1) << "the second operand is not needed";
  EXPECT_EQ(value_of("0 == 1 and 1 / 0 == 1"), 0);
  EXPECT_EQ(value_of(sum), 100'000);
}

TEST(Expression, IsZeroByDefault) { EXPECT_EQ(Expression{}.evaluate({}), 0); }

}  // namespace
}  // namespace gang::harness::program_file
