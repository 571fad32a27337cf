#include "properties/monitored_barriers.h"

#include "properties/faults_are_contained.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

constexpr const char* law_name = "monitored_barriers_name_who_is_missing";

// Gangs whose errors name others than the real ones.
Subject naming(const std::function<std::vector<int>(std::vector<int>)>& falsify) {
  Subject subject;
  subject.wrap = [falsify](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Misnaming final : public ForwardingGang {
     public:
      Misnaming(std::shared_ptr<Gang> inner,
                std::function<std::vector<int>(std::vector<int>)> falsify_ranks)
          : ForwardingGang(std::move(inner)), falsify_(std::move(falsify_ranks)) {}

     protected:
      std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override { return child; }
      Received do_run(Operation& operation) override {
        try {
          return ForwardingGang::do_run(operation);
        } catch (const GangError& error) {
          GangFailure failure;
          failure.kind = error.kind();
          failure.gang = error.gang();
          failure.rank = error.rank();
          failure.operation = error.operation();
          failure.ranks_at_fault = falsify_(error.ranks_at_fault());
          throw GangError(std::move(failure));
        }
      }

     private:
      std::function<std::vector<int>(std::vector<int>)> falsify_;
    };
    return std::make_shared<Misnaming>(std::move(gang), falsify);
  };
  return subject;
}

TEST(MonitoredBarriers, ARankThatIsForgottenIsCaught) {
  const Subject subject = naming([](std::vector<int> ranks) {
    if (ranks.size() > 1) ranks.pop_back();
    return ranks;
  });
  expect_caught(faults_are_contained(subject), law_name, "is told timeout of");
}

TEST(MonitoredBarriers, ARankThatIsAccusedWronglyIsCaught) {
  const Subject subject = naming([](const std::vector<int>&) { return std::vector<int>{0}; });
  expect_caught(faults_are_contained(subject), law_name, "is told");
}

TEST(MonitoredBarriers, APassThatNobodyWaitedForIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Hasty final : public ForwardingGang {
     public:
      using ForwardingGang::ForwardingGang;

     protected:
      std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override { return child; }
      Received do_run(Operation& operation) override {
        if (operation.collective.kind == OperationKind::monitored_barrier) return {};
        return ForwardingGang::do_run(operation);
      }
    };
    return std::make_shared<Hasty>(std::move(gang));
  };
  expect_caught(faults_are_contained(subject), law_name, "has passed it without");
}

TEST(MonitoredBarriers, ShrunkCasesAreValid) {
  sim::RandomStream random(1, "test");
  for (int i = 0; i < 50; ++i) {
    Draw draw{.random = random, .size = 50, .max_world = 8};
    const RollCall roll_call = generate_roll_call(draw);
    for (const RollCall& simpler : shrinks(roll_call)) {
      sim::validate(simpler.plan, simpler.world());
      EXPECT_FALSE(simpler == roll_call);
    }
  }
}

}  // namespace
}  // namespace gang::properties
