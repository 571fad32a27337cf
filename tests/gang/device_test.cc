#include "gang/device.h"

#include <gtest/gtest.h>

#include "gang/tensor_view.h"

namespace gang {
namespace {

TEST(Device, TextNamesTheTypeAndACudaDevicesIndex) {
  EXPECT_EQ(to_string(Device{}), "cpu");
  EXPECT_EQ(to_string(Device{DeviceType::cuda, 0}), "cuda:0");
  EXPECT_EQ(to_string(Device{DeviceType::cuda, 1}), "cuda:1");
}

TEST(Device, IsTheProcessorUnlessToldOtherwise) {
  EXPECT_EQ(Device{}, (Device{DeviceType::cpu, 0}));
  EXPECT_EQ(TensorView().device(), Device{});
}

TEST(Device, DevicesDifferByTypeAndIndex) {
  EXPECT_EQ((Device{DeviceType::cuda, 1}), (Device{DeviceType::cuda, 1}));
  EXPECT_NE((Device{DeviceType::cuda, 0}), (Device{DeviceType::cuda, 1}));
  EXPECT_NE((Device{DeviceType::cpu, 0}), (Device{DeviceType::cuda, 0}));
}

}  // namespace
}  // namespace gang
