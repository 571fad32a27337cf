// The property faulty_programs checks every finding; this checks causes, larger worlds and wording.
#include <set>

#include "harness/programs/faulty/faulty_program.h"
#include "harness/run/runner.h"
#include "tests/harness/programs/faulty/faulty_testing.h"

namespace gang::harness {
namespace {

TEST(NcclDevices, BothCommunicatorsAreNamedWithTheirCalls) {
  EXPECT_THAT(message_of(nccl_devices, "nccl_launch_order"),
              testing::HasSubstr("Communicators data[0,1] and model[0,1] are launched in different "
                                 "orders: rank 0 launched all_reduce #0 sum f32[8] on data[0,1]"));
}

TEST(NcclDevices, TheHostThatWaitsForItsDeviceIsNamed) {
  EXPECT_THAT(message_of(nccl_devices, "nccl_gang_made_late"),
              testing::HasSubstr("Rank 0 is in ncclCommSplit"));
}

// What NCCL's rules on order, threads and groups forbid, each with the programs that do it. Source:
// NCCL 2.28.9, user guide ("Thread Safety", "Group Calls", "Using multiple NCCL communicators
// concurrently"), environment variables, and the issues named.
struct DeviceCause {
  const char* description;
  std::vector<std::string> programs;
};

const std::vector<DeviceCause>& causes() {
  static const std::vector<DeviceCause> all = {
      {"communicators in different orders on two ranks", {"nccl_launch_order", "nccl_three_pairs"}},
      {"collectives and messages of two communicators at once (#522)", {"nccl_message_order"}},
      {"too few multiprocessors for kernels that spin together", {"nccl_many_kernels"}},
      {"no order among streams: NCCL_LAUNCH_ORDER_IMPLICIT=0", {"nccl_no_order"}},
      {"threads of one device that launch in any order", {"nccl_threads"}},
      {"a device must become idle between two launches: creating, freeing (#195, #623)",
       {"nccl_gang_made_late"}},
      {"CUDA_LAUNCH_BLOCKING=1 (#750)", {"nccl_launch_blocks", "nccl_blocking_sends"}},
      {"one thread for several ranks, without a group", {"nccl_one_thread"}},
      {"members of one communicator in different orders", {"nccl_one_stream"}},
      {"sends and receives that need each other, without a group", {"nccl_sends_ahead"}},
      {"members of one communicator with different arguments", {"nccl_other_count"}},
  };
  return all;
}

TEST(NcclDevices, ShowEveryCauseAndNoOther) {
  std::set<std::string> listed;
  for (const DeviceCause& cause : causes())
    for (const std::string& program : cause.programs) {
      EXPECT_TRUE(listed.insert(program).second) << program;
      EXPECT_NO_THROW(find_faulty(nccl_devices, program)) << cause.description;
    }
  std::set<std::string> present;
  for (const FaultyProgram& faulty : nccl_devices()) present.insert(faulty.name);
  EXPECT_EQ(listed, present);
}

TEST(NcclDevices, AreFoundInLargerWorlds) {
  std::vector<FaultyProgram> growing = nccl_devices();
  std::erase_if(growing, [](const FaultyProgram& faulty) { return faulty.world_step == 1; });
  EXPECT_GE(growing.size(), 7U);
  for (const FaultyProgram& faulty : growing) expect_alike(faulty);
}

// Some bugs need a certain kind of device; on another kind the program holds.
TEST(NcclDevices, HoldOnDevicesThatForgiveTheBug) {
  const auto holds = [](const std::string& name, const char* model) {
    FaultyProgram faulty = find_faulty(nccl_devices, name);
    faulty.options["nccl"] = model;
    return run_faulty(faulty).holds();
  };
  EXPECT_TRUE(holds("nccl_launch_blocks", "launch=async"));
  EXPECT_TRUE(holds("nccl_blocking_sends", "resident=2,launch=async"));
  EXPECT_TRUE(holds("nccl_many_kernels", "resident=3"));
  EXPECT_TRUE(holds("nccl_launch_order", "resident=2"));
  EXPECT_TRUE(holds("nccl_no_order", "order=host"));
}

TEST(NcclDevices, AThreadThatDrivesTwoDevicesIsNamed) {
  EXPECT_THAT(
      message_of(nccl_devices, "nccl_one_thread"),
      testing::HasSubstr("One thread drives ranks 0-1: it blocks in all_reduce #0 sum f32[8] on "
                         "devices[0,1] for one of them"));
}

}  // namespace
}  // namespace gang::harness
