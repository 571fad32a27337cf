#include "properties/texts_round_trip.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

// Numbers in decimal, read by `parse`.
TextForm<int> numbers(std::function<int(const std::string&)> parse) {
  TextForm<int> form;
  form.name = "numbers";
  form.generate = [](Draw& draw) { return draw.between(0, 1000); };
  form.print = [](const int& number) { return std::to_string(number); };
  form.parse = std::move(parse);
  form.simpler = [](const int& number) {
    return number > 0 ? std::vector{number / 2, number - 1} : std::vector<int>{};
  };
  return form;
}

TEST(TextsRoundTrip, HoldForEveryForm) { expect_hold(texts_round_trip(), 2000); }

TEST(TextsRoundTrip, AParserThatLosesADigitIsCaughtAtTheSmallestValue) {
  const auto form = numbers([](const std::string& text) { return std::stoi(text.substr(0, 2)); });
  const Counterexample found =
      expect_caught(round_trip_property(form), "it parses to a different value:\n10");
  EXPECT_EQ(found.text, "100");
}

TEST(TextsRoundTrip, AParserThatThrowsIsCaught) {
  const auto form = numbers([](const std::string& text) {
    if (text.size() > 1) throw std::runtime_error("too long");
    return std::stoi(text);
  });
  const Counterexample found = expect_caught(round_trip_property(form), "too long");
  EXPECT_EQ(found.text, "10");
}

TEST(TextsRoundTrip, RankRangesAreReadBack) {
  EXPECT_EQ(parse_rank_ranges("0-3,8,10-14:2"), (std::vector{0, 1, 2, 3, 8, 10, 12, 14}));
  EXPECT_EQ(parse_rank_ranges(""), std::vector<int>{});
}

}  // namespace
}  // namespace gang::properties
