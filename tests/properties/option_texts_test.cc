#include "properties/texts_round_trip.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(OptionTexts, RoundTrip) {
  const std::vector<Property> properties = option_texts_round_trip();
  EXPECT_EQ(properties.size(), 5U);
  expect_hold(properties, 2000);
}

}  // namespace
}  // namespace gang::properties
