#include "properties/invalid_arguments_stay_local.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(InvalidArgumentsStayLocal, HoldOnFakeAndSimulatedGangs) {
  expect_hold(invalid_arguments_stay_local());
}

TEST(InvalidArgumentsStayLocal, AWrongCallThatSucceedsIsCaught) {
  const std::vector<WrongCall> calls = {
      {"barrier", ErrorClass::invalid_argument, [](Gang& gang) { gang.barrier(); }}};
  const Counterexample found =
      expect_caught(invalid_arguments_stay_local(make_fake_gang, {}, calls),
                    "every_backend_raises_one_error", "barrier gives no error on fake");
  EXPECT_EQ(found.text, "world 1, barrier");
}

TEST(InvalidArgumentsStayLocal, AnotherErrorClassIsCaught) {
  const std::vector<WrongCall> calls = {
      {"unsupported", ErrorClass::invalid_argument, [](Gang&) { throw NotSupported("planted"); }}};
  expect_caught(invalid_arguments_stay_local(make_fake_gang, {}, calls),
                "every_backend_raises_one_error", "gives NotSupported");
}

TEST(InvalidArgumentsStayLocal, ACallThatSendsBeforeItFailsIsCaught) {
  const std::vector<WrongCall> calls = {{"barrier", ErrorClass::invalid_argument, [](Gang& gang) {
                                           gang.barrier();
                                           throw InvalidArgument("planted");
                                         }}};
  const Counterexample found =
      expect_caught(invalid_arguments_stay_local(make_fake_gang, {}, calls), "nothing_is_sent");
  EXPECT_EQ(found.text, "world 2, barrier");
}

}  // namespace
}  // namespace gang::properties
