#include "harness/program_file/expression.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness::program_file {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Place expression_place{"suspect.toml", 6, 11};

std::int64_t value_of(std::string_view text, const Variables& variables = {}) {
  Tokens tokens{text, expression_place};
  const Expression expression = Expression::parse(tokens);
  tokens.expect_end();
  return expression.evaluate(variables);
}

struct ExpressionCase {
  std::string_view text;
  std::int64_t value;
};

class ExpressionValues : public testing::TestWithParam<ExpressionCase> {};

TEST_P(ExpressionValues, AreAsInArithmetic) {
  EXPECT_EQ(value_of(GetParam().text, {.rank = 3, .world = 8, .iteration = 2}), GetParam().value)
      << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Expression, ExpressionValues,
    testing::Values(ExpressionCase{"1 + 2 * 3", 7}, ExpressionCase{"(1 + 2) * 3", 9},
                    ExpressionCase{"7 - 2 - 1", 4}, ExpressionCase{"rank", 3},
                    ExpressionCase{"world - rank + iteration", 7}, ExpressionCase{"-rank", -3},
                    ExpressionCase{"(rank - 4) % world", 7}, ExpressionCase{"-7 / 2", -4},
                    ExpressionCase{"7 / -2", -4}, ExpressionCase{"-7 % 2", 1},
                    ExpressionCase{"7 % -2", -1}, ExpressionCase{"rank == 3", 1},
                    ExpressionCase{"rank != 3", 0}, ExpressionCase{"rank < 3 or rank >= 3", 1},
                    ExpressionCase{"not rank == 3", 0},
                    ExpressionCase{"not rank > 5 and iteration <= 2", 1},
                    ExpressionCase{"1 or 0 and 0", 1}, ExpressionCase{"0 and 1 / 0", 0},
                    ExpressionCase{"1 or 1 / 0", 1}, ExpressionCase{"not not 5", 1},
                    ExpressionCase{"rank <= 3", 1}, ExpressionCase{"rank > 3", 0},
                    ExpressionCase{"iteration", 2}, ExpressionCase{"1 and 0", 0}));

TEST(Expression, StopsAfterItsLastWord) {
  Tokens tokens{"rank + 1 tag 3", expression_place};
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

TEST(Expression, MayBeNested64Deep) {
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '(') + "7" + std::string(depth, ')');
  };
  EXPECT_EQ(value_of(nested(64)), 7);
  EXPECT_THROW(value_of(nested(65)), InvalidArgument);
}

TEST(Expression, HasNoLimitOnParenthesesBesideEachOther) {
  std::string sum = "(1)";
  for (int i = 0; i < 1000; ++i) sum += " + (-(1) + 2)";
  EXPECT_EQ(value_of(sum), 1001);
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
