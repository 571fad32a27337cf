#include "gang/owned_operation.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(OwnedOperation, OutlivesWhatItWasMadeFrom) {
  std::vector<float> memory(4);
  std::optional<OwnedOperation> owned;
  {
    std::string label = "step 3, of which there are many";
    std::vector<TensorView> inputs(2, view(memory));
    std::vector<TensorView> outputs(3, view(memory));
    std::vector<std::int64_t> input_splits = {1, 3};
    std::vector<std::int64_t> output_splits = {2, 2, 0};
    std::vector<PointToPoint> batch(1, {.tensor = view(memory), .peer = 7});
    std::vector<int> ranks = {4, 2};
    Operation operation;
    operation.collective.label = label;
    OperationExtras extras{.inputs = inputs,
                           .outputs = outputs,
                           .input_splits = input_splits,
                           .output_splits = output_splits,
                           .batch = batch,
                           .ranks = ranks,
                           .color = 5};
    operation.extras = &extras;
    operation.guarded = inputs;
    owned.emplace(operation);
    label.assign(label.size(), '-');
    inputs.assign(2, {});
    input_splits.assign(2, 0);
    batch.front().peer = 0;
    ranks.assign(2, 0);
    extras = {};
  }
  const Operation& operation = owned->get();
  EXPECT_EQ(operation.collective.label, "step 3, of which there are many");
  EXPECT_EQ(operation.extras->inputs.size(), 2U);
  EXPECT_EQ(operation.extras->inputs[1].data(), view(memory).data());
  EXPECT_EQ(operation.extras->outputs.size(), 3U);
  EXPECT_EQ(operation.extras->input_splits[1], 3);
  EXPECT_EQ(operation.extras->output_splits[0], 2);
  EXPECT_EQ(operation.extras->batch[0].peer, 7);
  EXPECT_EQ(operation.extras->ranks[0], 4);
  EXPECT_EQ(operation.extras->color, 5);
  EXPECT_EQ(operation.guarded.size(), 2U);
  EXPECT_EQ(operation.guarded[1].data(), view(memory).data());
}

TEST(OwnedOperation, OwnsWhateverSingleListItWasGiven) {
  std::string label = "step 3, of which there are many";
  std::vector<int> ranks = {4, 2};
  Operation labelled;
  labelled.collective.label = label;
  Operation listing;
  const OperationExtras extras{.ranks = ranks};
  listing.extras = &extras;
  OwnedOperation owned_label(labelled);
  OwnedOperation owned_ranks(listing);
  label.assign(label.size(), '-');
  ranks.assign(2, 0);
  EXPECT_EQ(owned_label.get().collective.label, "step 3, of which there are many");
  EXPECT_EQ(owned_ranks.get().extras->ranks[0], 4);
}

}  // namespace
}  // namespace gang
