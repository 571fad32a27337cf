#include "properties/errors_reach_everyone.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* name = "no_survivor_hangs_or_is_told_success";

TEST(ErrorsReachEveryone, HoldsOnTheSimulator) { expect_hold(errors_reach_everyone(), 2000); }

// Operations that swallow an error: the survivors think all is well.
TEST(ErrorsReachEveryone, ASurvivorThatIsToldSuccessIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Forgiving final : public ForwardingGang {
     public:
      using ForwardingGang::ForwardingGang;

     protected:
      Received do_run(Operation& operation) override {
        try {
          return ForwardingGang::do_run(operation);
        } catch (const GangError& error) {
          if (error.kind() == GangErrorKind::aborted) throw;
          return {};
        }
      }
    };
    return std::make_shared<Forgiving>(std::move(gang));
  };
  const Counterexample found = expect_caught(errors_reach_everyone(subject), name);
  EXPECT_THAT(found.text, ::testing::StartsWith("world 2, 1 gang, 1 step,"));
  EXPECT_THAT(found.message, ::testing::AnyOf(::testing::HasSubstr("is told success in step 0"),
                                              ::testing::HasSubstr("ends without being told")));
}

TEST(ErrorsReachEveryone, ASurvivorThatHangsIsCaught) {
  const Subject subject = reporting([](sim::Report& report) {
    if (report.outcome == sim::Outcome::failed) report.outcome = sim::Outcome::deadlock;
  });
  expect_caught(errors_reach_everyone(subject), name, "ended as 'deadlock', expected 'failed'");
}

TEST(ErrorsReachEveryone, AFailureThatIsNotNamedIsCaught) {
  const Subject subject = reporting([](sim::Report& report) { report.findings.clear(); });
  expect_caught(errors_reach_everyone(subject), name, "rank_failed");
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
  const Counterexample found = expect_caught(errors_reach_everyone(subject), name);
  EXPECT_THAT(found.text, ::testing::HasSubstr("aborts the gang"));
}

}  // namespace
}  // namespace gang::properties
