#include "gang/nccl/nccl_flight.h"

#include <gtest/gtest.h>

#include "tests/gang/nccl/recording_nccl.h"

namespace gang {
namespace {

TEST(NcclFlight, CopiesTheResultsOfTheDeviceBack) {
  test::RecordedFlight recorded;
  NcclFlight& flight = *recorded.flight;
  flight.copy_back();
  EXPECT_EQ(recorded.result[2], std::byte{7});
  recorded.result[2] = {};
  flight.forget_tensors();
  flight.copy_back();
  EXPECT_EQ(recorded.result[2], std::byte{0});
  EXPECT_EQ(flight.deadline() - flight.began(), std::chrono::seconds(1));
}

}  // namespace
}  // namespace gang
