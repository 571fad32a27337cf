#include "properties/errors_reach_everyone.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* survivors_law = "no_survivor_hangs_or_is_told_success";

TEST(ErrorsReachEveryone, HoldsOnTheSimulator) { expect_hold(errors_reach_everyone(), 2000); }

// The survivors think all is well.
TEST(ErrorsReachEveryone, ASurvivorThatIsToldSuccessIsCaught) {
  const Subject subject = forgiving(GangErrorKind::aborted);
  const Counterexample found = expect_caught(errors_reach_everyone(subject), survivors_law);
  EXPECT_THAT(found.text, ::testing::StartsWith("world 2, 1 gang, 1 step,"));
  EXPECT_THAT(found.message, ::testing::AnyOf(::testing::HasSubstr("step 0 succeeds on rank"),
                                              ::testing::HasSubstr("ends without an error")));
}

TEST(ErrorsReachEveryone, ASurvivorThatHangsIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (report.outcome == sim::Outcome::failed) report.outcome = sim::Outcome::deadlock;
  });
  expect_caught(errors_reach_everyone(subject), survivors_law,
                "ended as 'deadlock', expected 'failed'");
}

TEST(ErrorsReachEveryone, AFailureThatIsNotNamedIsCaught) {
  const Subject subject = reporting([](sim::Report& report) { report.findings.clear(); });
  expect_caught(errors_reach_everyone(subject), survivors_law, "rank_failed");
}

// An abort that only closes this rank's side.
TEST(ErrorsReachEveryone, AnAbortThatStaysLocalIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Polite final : public ForwardingGang {
     public:
      using ForwardingGang::ForwardingGang;

     protected:
      void do_abort() override {}
    };
    return std::make_shared<Polite>(std::move(gang));
  };
  const Counterexample found = expect_caught(errors_reach_everyone(subject), survivors_law);
  EXPECT_THAT(found.text, ::testing::HasSubstr("aborts the gang"));
}

}  // namespace
}  // namespace gang::properties
