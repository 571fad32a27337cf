#include "properties/remote_runs_agree.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(RemoteRunsAgree, Hold) { expect_hold(remote_runs_agree(), 12'000); }

TEST(RemoteRunsAgree, AClientThatDamagesAResultIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    return std::make_shared<PlantedGang>(std::move(gang),
                                         [](Gang&, Operation& operation) { corrupt(operation); });
  };
  expect_caught(remote_runs_agree(subject), "programs_give_the_same_trace_and_results");
}

// Another reduction gives the same verdict; not the same calls.
TEST(RemoteRunsAgree, AClientThatSendsAnotherCallIsCaught) {
  const Subject subject =
      running_by([](Operation& operation, const std::function<Received(Operation&)>& inner) {
        if (reduces(operation.collective.kind))
          operation.collective.reduce_operation = ReduceOperation::max;
        return inner(operation);
      });
  expect_caught(remote_runs_agree(subject), "programs_give_the_same_trace_and_results");
}

// One rank's mistake is hidden by another's.
TEST(RemoteRunsAgree, AClientThatHidesAMistakeIsCaught) {
  const Subject subject =
      running_by([](Operation& operation, const std::function<Received(Operation&)>& inner) {
        operation.collective.label = {};
        if (operation.collective.kind == OperationKind::barrier) return Received{};
        return inner(operation);
      });
  expect_caught(remote_runs_agree(subject), "mistakes_give_the_same_verdict");
}

}  // namespace
}  // namespace gang::properties
