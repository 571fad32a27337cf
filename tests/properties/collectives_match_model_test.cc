#include "properties/collectives_match_model.h"

#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

using ::testing::HasSubstr;

TEST(CollectivesMatchModel, HoldsOnSimulatedGangs) { expect_hold(collectives_match_model()); }

struct PlantedKind {
  OperationKind kind;
  const char* property;
};

class EveryOperation : public ::testing::TestWithParam<PlantedKind> {};

TEST_P(EveryOperation, AWrongResultIsCaughtAndShrunkToOneStep) {
  const auto properties = collectives_match_model(corrupting(GetParam().kind));
  const Counterexample found = expect_caught(properties, GetParam().property, "step 0");
  EXPECT_THAT(found.text, HasSubstr("1 step,"));
}

INSTANTIATE_TEST_SUITE_P(
    Kinds, EveryOperation,
    ::testing::Values(PlantedKind{OperationKind::all_reduce, "all_reduce"},
                      PlantedKind{OperationKind::reduce, "reduce"},
                      PlantedKind{OperationKind::reduce_scatter, "reduce_scatter"},
                      PlantedKind{OperationKind::all_gather, "all_gather"},
                      PlantedKind{OperationKind::all_gather_to_list, "all_gather_to_list"},
                      PlantedKind{OperationKind::gather, "gather"},
                      PlantedKind{OperationKind::scatter, "scatter"},
                      PlantedKind{OperationKind::all_to_all, "all_to_all"},
                      PlantedKind{OperationKind::broadcast, "broadcast"},
                      PlantedKind{OperationKind::recv, "send_and_recv"},
                      PlantedKind{OperationKind::batch, "batch"},
                      PlantedKind{OperationKind::all_reduce, "random_programs"}),
    [](const auto& test) { return std::string(test.param.property); });

TEST(CollectivesMatchModel, AnObjectThatChangesOnTheWayIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    return std::make_shared<PlantedGang>(std::move(gang), [](Gang& on, Operation& operation) {
      const bool receives = on.rank() != operation.collective.peer;
      if (operation.extras->packed && receives) operation.extras->packed->back() ^= std::byte{1};
    });
  };
  expect_caught(collectives_match_model(subject), "broadcast_objects");
}

// The second message is received as a copy of the first.
TEST(CollectivesMatchModel, AMessageThatIsReceivedTwiceIsCaught) {
  Subject subject;
  subject.wrap = [](std::shared_ptr<Gang> gang) -> std::shared_ptr<Gang> {
    class Twice final : public ForwardingGang {
     public:
      using ForwardingGang::ForwardingGang;

     protected:
      Work do_start(Operation& operation) override {
        Work work = ForwardingGang::do_start(operation);
        if (operation.collective.kind != OperationKind::recv) return work;
        work.wait();
        if (first_.empty()) {
          first_.assign(operation.output.data(),
                        operation.output.data() + operation.output.size_bytes());
        } else if (first_.size() == operation.output.size_bytes()) {
          std::ranges::copy(first_, operation.output.data());
        }
        return work;
      }

     private:
      std::vector<std::byte> first_;
    };
    return std::make_shared<Twice>(std::move(gang));
  };
  const Counterexample found =
      expect_caught(collectives_match_model(subject), "recv_from_any_rank", "step 0");
  EXPECT_THAT(found.text, HasSubstr("world 3,"));
}

}  // namespace
}  // namespace gang::properties
