#include "gang/enum_names.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

enum class Colour { red, green, blue };

constexpr std::array colours = {EnumName{Colour::red, "red"}, EnumName{Colour::green, "green"}};

TEST(EnumNames, AreReadBothWays) {
  static_assert(name_of(colours, Colour::green) == "green");
  static_assert(parse_name(colours, "red") == Colour::red);
  EXPECT_EQ(list_names(colours), "red, green");
}

TEST(EnumNames, CanBeGivenInTheOrderOfTheEnumerators) {
  constexpr auto names = names_in_order<Colour>("red", "green", "blue");
  static_assert(name_of(names, Colour::blue) == "blue");
  static_assert(parse_name(names, "green") == Colour::green);
}

TEST(EnumNames, HaveNothingForWhatTheTableLacks) {
  EXPECT_EQ(name_of(colours, Colour::blue), "");
  EXPECT_EQ(parse_name(colours, "Red"), std::nullopt);
  EXPECT_EQ(parse_name(colours, ""), std::nullopt);
}

}  // namespace
}  // namespace gang
