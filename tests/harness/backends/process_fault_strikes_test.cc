// When and how faults of a process happen to it.
#include <signal.h>

#include <chrono>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "gang/store/memory_store.h"
#include "harness/backends/launcher.h"
#include "harness/backends/process_fault.h"
#include "tests/gang/capturing_gang.h"
#include "tests/temporary_directory.h"

namespace gang::harness {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(FaultedGang, AFaultAfterAnOperationFindsItDone) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const ProcessFault fault{.kind = ProcessFaultKind::exception, .moment = FaultMoment::after};
  FaultTally tally;
  const auto gang = make_faulted_gang(inner, 0, {&fault, 1}, tally);
  EXPECT_THROW(gang->barrier(), InjectedFault);
  EXPECT_EQ(inner->sent.size(), 1U);
  gang->barrier();
  EXPECT_EQ(tally.operations, 2U);
  EXPECT_EQ(tally.struck, 1U);
}

TEST(FaultedGang, ADelayTakesItsTime) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const ProcessFault fault{.kind = ProcessFaultKind::delay, .span = 30ms};
  FaultTally tally;
  const auto gang = make_faulted_gang(inner, 0, {&fault, 1}, tally);
  const auto began = std::chrono::steady_clock::now();
  gang->barrier();
  EXPECT_GE(std::chrono::steady_clock::now() - began, 30ms);
}

TEST(FaultedStore, OtherRanksLoseOtherRequests) {
  const auto runtime = make_real_runtime();
  const auto lost_by = [&runtime](int rank) {
    const ProcessFault faults[] = {
        {.kind = ProcessFaultKind::store,
         .rank = rank,
         .store = StoreFault{.kind = StoreFaultKind::lossy, .probability = 0.5}}};
    const auto store = make_faulted_store(*runtime, make_memory_store(*runtime), rank, faults, 1ms);
    std::string lost;
    for (int request = 0; request < 24; ++request) {
      try {
        store->set_text("a", "1");
        lost += '.';
      } catch (const StoreError&) {
        lost += 'x';
      }
    }
    return lost;
  };
  EXPECT_EQ(lost_by(0), lost_by(0));
  EXPECT_NE(lost_by(0), lost_by(1));
}

TEST(FaultedGang, AFaultInsideAnOperationComesWhileThatIsUnderWay) {
  const std::string marker = test::temporary_directory() + "under_way";
  const auto ends = run_processes(
      1,
      [&marker](int) {
        const auto inner = std::make_shared<test::CapturingGang>(2);
        inner->reaction = [&marker](Operation&) {
          std::this_thread::sleep_for(20ms);
          std::ofstream(marker) << "under way";
          std::this_thread::sleep_for(1000s);
        };
        const ProcessFault fault{.moment = FaultMoment::inside, .span = 200ms};
        FaultTally tally;
        make_faulted_gang(inner, 0, {&fault, 1}, tally)->barrier();
        return std::string();
      },
      20s);
  EXPECT_EQ(ends[0].signal, SIGKILL);
  EXPECT_TRUE(std::ifstream(marker).is_open());
}

TEST(FaultedGang, AFaultOfTheStoreIsNoneOfTheGang) {
  const auto inner = std::make_shared<test::CapturingGang>(2);
  const ProcessFault fault{.kind = ProcessFaultKind::store, .store = StoreFault{}};
  FaultTally tally;
  make_faulted_gang(inner, 0, {&fault, 1}, tally)->barrier();
  EXPECT_EQ(inner->sent.size(), 1U);
  EXPECT_EQ(tally.struck, 0U);
}

}  // namespace
}  // namespace gang::harness
