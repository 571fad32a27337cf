#include "properties/all_properties.h"
#include "tests/properties/planted.h"

namespace gang::properties {
namespace {

TEST(AlgorithmsAgree, HoldOnSimulatedGangs) { expect_hold(algorithms_agree()); }

struct Planted {
  OperationKind kind;
  const char* property;
  const char* message;
};

class EveryEquation : public ::testing::TestWithParam<Planted> {};

TEST_P(EveryEquation, FailsWhereOneOfItsOperationsIsWrong) {
  const Planted& planted = GetParam();
  expect_caught(algorithms_agree(corrupting(planted.kind)), planted.property, planted.message);
}

INSTANTIATE_TEST_SUITE_P(
    Equations, EveryEquation,
    ::testing::Values(
        Planted{OperationKind::reduce, "reduce_and_broadcast_make_all_reduce", "differ"},
        Planted{OperationKind::reduce_scatter, "reduce_scatter_and_all_gather_make_all_reduce",
                "differ"},
        Planted{OperationKind::scan, "scans_are_parts_of_all_reduce", "differ"},
        Planted{OperationKind::gather, "gather_undoes_scatter", "does not undo"},
        Planted{OperationKind::all_gather, "gather_and_broadcast_make_all_gather", "differs"},
        Planted{OperationKind::all_to_all, "all_to_all_twice_is_the_identity", "does not undo"},
        Planted{OperationKind::all_to_all, "uneven_all_to_all_has_an_inverse", "does not undo"},
        Planted{OperationKind::all_gather, "permuting_ranks_permutes_results", "order"},
        Planted{OperationKind::all_reduce, "sdp_then_rdp_makes_dp", "differs"}),
    [](const auto& test) { return std::string(test.param.property); });

}  // namespace
}  // namespace gang::properties
