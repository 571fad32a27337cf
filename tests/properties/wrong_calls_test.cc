#include <set>

#include "properties/invalid_arguments_stay_local.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(WrongCalls, HaveNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const WrongCall& call : all_wrong_calls()) {
    EXPECT_TRUE(names.insert(call.name).second) << call.name;
  }
  EXPECT_GE(names.size(), 30U);
}

TEST(WrongCalls, CoverEveryClassOfLocalError) {
  std::set<ErrorClass> classes;
  for (const WrongCall& call : all_wrong_calls()) classes.insert(call.expected);
  EXPECT_EQ(classes, (std::set{ErrorClass::invalid_argument, ErrorClass::invalid_operation,
                               ErrorClass::not_supported}));
}

}  // namespace
}  // namespace gang::properties
