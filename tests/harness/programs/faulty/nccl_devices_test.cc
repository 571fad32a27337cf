// What is wrong in each is in faulty_programs, a property: here, the words.
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(NcclDevices, BothCommunicatorsAreNamedWithTheirCalls) {
  EXPECT_THAT(message_of(nccl_devices(), "nccl_launch_order"),
              testing::HasSubstr("Communicators data[0,1] and model[0,1] are launched in different "
                                 "orders: rank 0 launched all_reduce #0 sum f32[8] on data[0,1]"));
}

TEST(NcclDevices, TheHostThatWaitsForItsDeviceIsNamed) {
  EXPECT_THAT(message_of(nccl_devices(), "nccl_gang_made_late"),
              testing::HasSubstr("Rank 0 is in ncclCommSplit"));
}

}  // namespace
}  // namespace gang::harness
