// What can be wrong with a tensor in any operation: the messages, and that nothing is sent.
#include "gang/operation_checks.h"

#include <array>
#include <vector>

#include <gtest/gtest.h>

#include "tests/gang/capturing_gang.h"

namespace gang {
namespace {

using test::CapturingGang;
using test::message_of;

constexpr ReduceOperation sum = ReduceOperation::sum;

class OperationChecks : public testing::Test {
 protected:
  // The message with which all_reduce refuses `tensor`; nothing may have been sent.
  std::string refusal_of(const TensorView& tensor) {
    const std::string message = message_of<InvalidArgument>([&] { gang_.all_reduce(tensor, sum); });
    EXPECT_TRUE(gang_.sent.empty());
    return message;
  }

  std::array<float, 8> memory_{};
  CapturingGang gang_{4};
};

TEST_F(OperationChecks, TensorsMustBeContiguous) {
  const TensorView square = view(memory_, Shape{2, 4});
  DLTensor tensor;
  square.to_dlpack(tensor);
  std::array<std::int64_t, 2> strides = {1, 2};
  tensor.strides = strides.data();
  EXPECT_EQ(refusal_of(TensorView::from_dlpack(tensor)),
            "all_reduce on root[0-3]: tensor is not contiguous; must be contiguous");
}

TEST_F(OperationChecks, TensorsMustBeOnTheGangsDevice) {
  EXPECT_EQ(refusal_of(TensorView(memory_.data(), DataType::f32, {8}, {DeviceType::cuda, 1})),
            "all_reduce on root[0-3]: tensor is on cuda:1; must be on cpu");
}

TEST_F(OperationChecks, TensorsWithElementsMustHaveMemory) {
  EXPECT_EQ(refusal_of(TensorView(nullptr, DataType::f32, {8})),
            "all_reduce on root[0-3]: tensor f32[8] has no memory; only tensors without elements "
            "may have none");
}

TEST_F(OperationChecks, TensorsWithoutElementsAreLegalEverywhere) {
  gang_.all_reduce(TensorView(), sum);
  gang_.all_reduce(view(memory_).slice(0, 0), sum);
  gang_.broadcast(TensorView(), 2);
  gang_.all_gather(TensorView(nullptr, DataType::f32, {4, 0}), TensorView());
  gang_.reduce_scatter(TensorView(), TensorView(nullptr, DataType::f32, {4, 0}), sum);
  gang_.all_to_all(TensorView(), TensorView());
  gang_.send(TensorView(), 1);
  EXPECT_EQ(gang_.sent.size(), 7u);
}

TEST_F(OperationChecks, TypesMustAgree) {
  std::array<std::int32_t, 8> integers{};
  EXPECT_EQ(
      message_of<InvalidArgument>([&] { gang_.all_reduce(view(integers), view(memory_), sum); }),
      "all_reduce on root[0-3]: output is i32[8] but the other operand is f32[8]; both must "
      "have the same data type");
}

TEST_F(OperationChecks, CountsMustAgree) {
  std::array<float, 7> output{};
  EXPECT_EQ(
      message_of<InvalidArgument>([&] { gang_.all_reduce(view(output), view(memory_), sum); }),
      "all_reduce on root[0-3]: output f32[7] has 7 elements; must have 8");
  EXPECT_EQ(
      message_of<InvalidArgument>([&] { gang_.all_reduce(view(memory_), view(output), sum); }),
      "all_reduce on root[0-3]: output f32[8] has 8 elements; must have 7");
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(OperationChecks, PartialOverlapIsRefusedAndIdenticalMemoryIsNot) {
  const TensorView all = view(memory_);
  EXPECT_EQ(
      message_of<InvalidArgument>([&] { gang_.all_reduce(all.slice(0, 5), all.slice(3, 5), sum); }),
      "all_reduce on root[0-3]: output and input overlap; must be disjoint or identical memory");
  EXPECT_TRUE(gang_.sent.empty());
  gang_.all_reduce(all, all, sum);
  gang_.all_reduce(all.slice(0, 4), all.slice(4, 4), sum);
  EXPECT_EQ(gang_.sent.size(), 2u);
}

TEST_F(OperationChecks, WhatHasNoElementsOverlapsNothing) {
  const std::vector<std::int64_t> counts = {0, 8, 0, 0};
  gang_.all_gather(view(memory_), view(memory_).slice(3, 0), counts);
  EXPECT_EQ(gang_.sent.size(), 1u);
}

TEST_F(OperationChecks, ThereAreAsManyChunksAndEntriesAsRanks) {
  std::array<float, 10> whole{};
  const TensorView chunk = view(memory_).slice(0, 2);
  for (const std::int64_t ranks : {3, 5}) {
    const TensorView stack = view(whole).slice(0, 2 * ranks).reshaped({ranks, 2});
    EXPECT_THROW(gang_.all_gather(stack, chunk), InvalidArgument) << ranks;
    const std::vector<TensorView> list(static_cast<std::size_t>(ranks), view(whole).slice(0, 2));
    EXPECT_THROW(gang_.all_gather_to_list(list, chunk), InvalidArgument) << ranks;
  }
  EXPECT_THROW(gang_.all_gather(view_of(whole[0]), view_of(memory_[0])), InvalidArgument);
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(OperationChecks, EachEntryOfAListIsLikeTheOtherOperandAndApartFromIt) {
  alignas(4) std::array<std::byte, 400> bytes{};
  const auto at = [&bytes](std::size_t first) {
    return TensorView(bytes.data() + first, DataType::f32, {2});
  };
  constexpr std::size_t input = 100;
  const std::vector<TensorView> good = {at(0), at(input - 8), at(input + 8), at(200)};
  gang_.all_gather_to_list(good, at(input));
  EXPECT_EQ(gang_.sent.size(), 1U);
  gang_.sent.clear();

  std::byte* const free_memory = bytes.data() + 300;
  std::array<std::int64_t, 1> extents = {2};
  std::array<std::int64_t, 1> strides = {2};
  const TensorView every_other = TensorView::from_dlpack({.data = free_memory,
                                                          .device = {kDLCPU, 0},
                                                          .ndim = 1,
                                                          .dtype = {kDLFloat, 32, 1},
                                                          .shape = extents.data(),
                                                          .strides = strides.data()});
  const std::vector<TensorView> bad = {
      at(input - 7),
      at(input + 7),
      at(input - 1),
      at(input + 1),
      every_other,
      TensorView(free_memory, DataType::i32, {2}),
      TensorView(free_memory, DataType::f32, {3}),
      TensorView(free_memory, DataType::f32, {0}),
      TensorView(free_memory, DataType::f32, {2}, {DeviceType::cuda, 0}),
      TensorView(nullptr, DataType::f32, {2})};
  for (std::size_t place = 0; place < good.size(); ++place)
    for (const TensorView& entry : bad) {
      std::vector<TensorView> list = good;
      list[place] = entry;
      EXPECT_THROW(gang_.all_gather_to_list(list, at(input)), InvalidArgument)
          << to_string(entry) << " as entry " << place;
    }
  for (std::size_t place = 0; place < good.size(); ++place) {
    std::vector<TensorView> list = good;
    list[place] = at(input);
    if (place == static_cast<std::size_t>(gang_.rank()))
      EXPECT_NO_THROW(gang_.all_gather_to_list(list, at(input)));
    else
      EXPECT_THROW(gang_.all_gather_to_list(list, at(input)), InvalidArgument) << place;
  }
  EXPECT_EQ(gang_.sent.size(), 1U);
}

TEST_F(OperationChecks, EntriesWithoutElementsOverlapNothing) {
  const TensorView none = view(memory_).slice(3, 0);
  gang_.all_gather_to_list(std::vector<TensorView>(4, none), none);
  gang_.all_gather_to_list(std::vector<TensorView>{none, TensorView(), none, TensorView()}, none);
  gang_.all_gather_to_list(std::vector<TensorView>(4, none), TensorView());
  EXPECT_EQ(gang_.sent.size(), 3U);
}

TEST_F(OperationChecks, ChunksOfMoreElementsThanCanBeCountedAreRefused) {
  const TensorView chunk(memory_.data(), DataType::u8, {std::int64_t{1} << 62});  // 2^64 in all
  EXPECT_THROW(gang_.all_gather(TensorView(nullptr, DataType::u8, {0}), chunk), InvalidArgument);
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(OperationChecks, UndefinedReductionsAreRefusedBeforeAnythingIsSent) {
  for (const DataType type : all_data_types) {
    for (const ReduceOperation operation : all_reduce_operations) {
      const TensorView tensor(memory_.data(), type, Shape{1});
      const std::size_t before = gang_.sent.size();
      if (is_defined(operation, type)) {
        gang_.all_reduce(tensor, operation);
        EXPECT_EQ(gang_.sent.size(), before + 1);
      } else {
        EXPECT_THROW(gang_.all_reduce(tensor, operation), NotSupported);
        EXPECT_THROW(gang_.reduce(tensor, operation, 0), NotSupported);
        EXPECT_THROW(gang_.start_all_reduce(tensor, operation), NotSupported);
        EXPECT_THROW(gang_.scan(tensor, operation), NotSupported);
        const TensorView whole(memory_.data() + 4, type, Shape{4});
        EXPECT_THROW(gang_.reduce_scatter(tensor, whole, operation), NotSupported);
        EXPECT_EQ(gang_.sent.size(), before);
      }
    }
  }
}

TEST_F(OperationChecks, ARefusedReductionNamesTheDefinedOnes) {
  EXPECT_EQ(message_of<NotSupported>(
                [&] { gang_.all_reduce(view(memory_), ReduceOperation::bitwise_and); }),
            "all_reduce on root[0-3]: band is not defined for f32 on any backend; must be one of: "
            "sum, mean, product, min, max");
}

TEST_F(OperationChecks, RanksAreTheGangs) {
  for (const int rank : {-1, 4, 5, any_rank, no_rank})
    EXPECT_THROW(gang_.broadcast(view(memory_), rank), InvalidArgument) << rank;
  EXPECT_EQ(message_of<InvalidArgument>([&] { gang_.broadcast(view(memory_), 4); }),
            "broadcast on root[0-3]: source_rank is 4; must be 0 to 3");
  EXPECT_TRUE(gang_.sent.empty());
}

TEST_F(OperationChecks, ClosedGangsAndBadTimeoutsAreNamed) {
  EXPECT_EQ(message_of<InvalidArgument>([&] { gang_.barrier({.timeout = Duration(0)}); }),
            "barrier on root[0-3]: timeout is 0 s; must be positive or no_timeout");
  gang_.close();
  EXPECT_EQ(message_of<InvalidOperation>([&] { gang_.barrier(); }),
            "barrier on root[0-3]: the gang is closed");
}

}  // namespace
}  // namespace gang
