#include <set>

#include "properties/texts_round_trip.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(NamedValues, CoverEveryEnumeration) {
  std::set<std::string> enumerations;
  for (const NamedValue& value : all_named_values()) enumerations.insert(value.enumeration);
  EXPECT_EQ(enumerations,
            (std::set<std::string>{"context", "data type", "execution model", "operation kind",
                                   "reduce operation", "scheduler"}));
}

TEST(NamedValues, ANameThatParsesToAnotherValueIsCaught) {
  const NamedValue value{"planted", "one", [](const std::string&) { return false; },
                         [](const std::string&) { return true; }};
  const Counterexample found =
      expect_caught(names_round_trip({value}), "its name does not parse to it");
  EXPECT_EQ(found.text, "planted 'one'");
}

TEST(NamedValues, AParserThatAcceptsMoreThanTheNameIsCaught) {
  const NamedValue value{"planted", "one", [](const std::string&) { return true; },
                         [](const std::string& text) { return !text.starts_with("one"); }};
  expect_caught(names_round_trip({value}), "'onex' is accepted too");
}

}  // namespace
}  // namespace gang::properties
