#include "properties/law.h"

#include <chrono>
#include <limits>
#include <set>
#include <stdexcept>
#include <thread>

#include "gang/error.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using ::testing::HasSubstr;

struct Number {
  int value = 0;
};
std::string to_text(const Number& number) {
  return "number " + std::to_string(number.value) + "\nsecond line";
}
std::vector<Number> shrinks(const Number& number) {
  std::vector<Number> simpler;
  for (const int value : {0, number.value / 2, number.value - 1}) {
    if (value >= 0 && value < number.value) simpler.push_back({value});
  }
  return simpler;
}

Law<Number> law_of(std::function<Verdict(const Number&)> verdict) {
  Law<Number> law;
  law.suite = "numbers";
  law.name = "planted";
  law.description = "Planted.";
  law.generate = [](Draw& draw) { return Number{draw.between(0, 1000)}; };
  law.verdict = std::move(verdict);
  return law;
}

Verdict is_small(const Number& number) {
  return number.value < 37 ? Verdict::holds() : Verdict::violated("too large");
}

TEST(Draw, IsBetweenAnyTwoNumbers) {
  constexpr int least = std::numeric_limits<int>::min();
  constexpr int most = std::numeric_limits<int>::max();
  sim::RandomStream random(1, "numbers");
  Draw draw{.random = random};
  std::set<bool> is_negative;
  for (int i = 0; i < 100; ++i) is_negative.insert(draw.between(least, most) < 0);
  EXPECT_EQ(is_negative, (std::set<bool>{false, true}));
  for (int i = 0; i < 100; ++i) {
    const int drawn = draw.between(least, least + 1);
    EXPECT_TRUE(drawn == least || drawn == least + 1) << drawn;
  }
  EXPECT_EQ(draw.between(most, most), most);
}

TEST(Law, ThatHoldsIsCheckedOnAsManyCasesAsAskedFor) {
  const CheckResult result =
      to_property(law_of([](const Number&) { return Verdict::holds(); })).check({.cases = 123});
  EXPECT_TRUE(result.held());
  EXPECT_EQ(result.cases, 123U);
  EXPECT_EQ(result.planned_cases, 123U);
}

TEST(Law, CostDividesTheCases) {
  Law<Number> law = law_of([](const Number&) { return Verdict::holds(); });
  law.cost = 10;
  EXPECT_EQ(to_property(law).check({.cases = 123}).cases, 12U);
}

TEST(Law, ThatIsFalseIsShrunkToTheSmallestCase) {
  const Property property = to_property(law_of(is_small));
  const Counterexample found = expect_caught(property, "too large");
  EXPECT_EQ(found.text, "number 37\nsecond line");
  EXPECT_THAT(found.found_in, HasSubstr("number "));
  EXPECT_GT(found.shrink_steps, 0U);
  EXPECT_GT(found.case_number, 0U);
}

TEST(Law, ThatIsFalseIsToldOfAlsoIfThereIsNoTimeToShrink) {
  const Property property = to_property(law_of([](const Number& number) {
    return number.value < 37 ? Verdict::holds()
                             : Verdict::violated(std::to_string(number.value) + " is too large");
  }));
  const CheckResult result = property.check({.shrink_budget = Duration(0)});
  ASSERT_TRUE(result.counterexample);
  const Counterexample& found = *result.counterexample;
  EXPECT_EQ(found.shrink_steps, 0U);
  EXPECT_EQ(found.text, found.found_in + "\nsecond line");
  EXPECT_EQ("number " + found.message, found.found_in + " is too large");
}

TEST(Law, TheRunOfTheShrunkCaseIsKept) {
  const auto verdict = [](const Number& number) {
    return is_small(number).shown_by({.virtual_time = Duration(number.value)});
  };
  const CheckResult result = to_property(law_of(verdict)).check({.cases = 100});
  ASSERT_TRUE(result.counterexample);
  ASSERT_NE(result.counterexample->run, nullptr);
  EXPECT_EQ(result.counterexample->run->virtual_time, Duration(37));
  EXPECT_EQ(verdict({1}).run(), nullptr) << "a law that holds keeps nothing";
}

TEST(Law, EqualSeedsGiveEqualCases) {
  const Property property = to_property(law_of(is_small));
  const auto once = property.check({.seed = 5}).counterexample;
  const auto again = property.check({.seed = 5}).counterexample;
  ASSERT_TRUE(once && again);
  EXPECT_EQ(once->reproduce, again->reproduce);
  EXPECT_EQ(once->found_in, again->found_in);
  EXPECT_NE(property.check({.seed = 6}).counterexample->found_in, once->found_in);
}

TEST(Law, ATokenOfACaseThatIsMendedHolds) {
  const Counterexample found = expect_caught(to_property(law_of(is_small)));
  const Property mended = to_property(law_of([](const Number&) { return Verdict::holds(); }));
  EXPECT_TRUE(mended.check({.reproduce = found.reproduce}).held());
}

TEST(Law, AMalformedTokenIsRefused) {
  EXPECT_THROW(to_property(law_of(is_small)).check({.reproduce = "nonsense"}), InvalidArgument);
  // A shrink path that no case of this property has.
  EXPECT_THROW(to_property(law_of(is_small)).check({.reproduce = "1-1-0-16-900"}), InvalidArgument);
}

TEST(Law, AnExceptionIsAViolation) {
  const Property property = to_property(law_of([](const Number& number) {
    if (number.value > 3) throw std::runtime_error("planted");
    return Verdict::holds();
  }));
  const Counterexample found = expect_caught(property, "an exception: planted");
  EXPECT_THAT(found.text, HasSubstr("number 4"));
}

TEST(Law, AVerdictThatChangesIsStillAFailureAndSaysSo) {
  int judged = 0;
  const Property property = to_property(law_of([&judged](const Number&) {
    return ++judged == 5 ? Verdict::violated("the fifth") : Verdict::holds();
  }));
  const CheckResult result = property.check({.cases = 10});
  ASSERT_TRUE(result.counterexample);
  EXPECT_THAT(result.counterexample->message,
              ::testing::AllOf(HasSubstr("the fifth"), HasSubstr("not deterministic")));
}

TEST(Law, CasesThatItDoesNotSpeakOfAreDiscarded) {
  const Property property = to_property(law_of([](const Number& number) {
    return number.value % 2 == 0 ? Verdict::holds() : Verdict::not_applicable();
  }));
  const CheckResult result = property.check({.cases = 100});
  EXPECT_TRUE(result.held());
  EXPECT_EQ(result.cases, 100U);
  EXPECT_GT(result.discards, 20U);
}

TEST(Law, ThatSpeaksOfNoCaseGivesUp) {
  const Property property =
      to_property(law_of([](const Number&) { return Verdict::not_applicable(); }));
  const CheckResult result = property.check({.cases = 100});
  EXPECT_FALSE(result.held());
  EXPECT_FALSE(result.counterexample);
  EXPECT_NE(result.gave_up, "");
}

TEST(Law, TheTimeBudgetEndsTheSearch) {
  const Property property = to_property(law_of([](const Number&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return Verdict::holds();
  }));
  const CheckResult result =
      property.check({.cases = 100'000, .time_budget = std::chrono::milliseconds(20)});
  EXPECT_TRUE(result.held());
  EXPECT_LT(result.cases, 1000U);
  EXPECT_EQ(result.planned_cases, 100'000U);
}

TEST(EnumeratedLaw, VisitsEveryCaseOnceInOrder) {
  std::vector<int> seen;
  Law<Number> law;
  law.enumerate = [](int max_world) {
    std::vector<Number> numbers;
    for (int value = 0; value < 3 * max_world; ++value) numbers.push_back({value});
    return numbers;
  };
  law.verdict = [&seen](const Number& number) {
    seen.push_back(number.value);
    return Verdict::holds();
  };
  const CheckResult result = to_property(law).check({.cases = 1, .max_world = 80});
  ASSERT_EQ(result.cases, 240U);
  for (int value = 0; value < 240; ++value) EXPECT_EQ(seen[static_cast<std::size_t>(value)], value);
}

TEST(EnumeratedLaw, ReproducesWithTheWorldItWasFoundIn) {
  Law<Number> law;
  law.name = "enumerated";
  law.enumerate = [](int max_world) {
    std::vector<Number> numbers;
    for (int value = max_world; value > 0; --value) numbers.push_back({value});
    return numbers;
  };
  law.verdict = [](const Number& number) {
    return number.value % 7 == 0 ? Verdict::violated("seven") : Verdict::holds();
  };
  const Property property = to_property(law);
  const CheckResult result = property.check({.max_world = 50});
  ASSERT_TRUE(result.counterexample);
  const auto again =
      property.check({.max_world = 3, .reproduce = result.counterexample->reproduce});
  ASSERT_TRUE(again.counterexample);
  EXPECT_EQ(again.counterexample->text, result.counterexample->text);
}

TEST(Draw, WorldsGrowWithTheSize) {
  sim::RandomStream random(1, "draw");
  Draw small{random, 0, 16};
  Draw large{random, 100, 16};
  int largest = 0;
  for (int i = 0; i < 200; ++i) {
    EXPECT_EQ(small.world(2), 2);
    largest = std::max(largest, large.world(2));
  }
  EXPECT_EQ(largest, 16);
}

}  // namespace
}  // namespace gang::properties
