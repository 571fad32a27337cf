#include "gang/gang.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "tests/gang/capturing_gang.h"
#include "tests/gang/scripted_work.h"

namespace gang {
namespace {

using test::CapturingGang;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

TEST(Gang, HasTheInfoItWasMadeWith) {
  auto info = std::make_shared<GangInfo>();
  info->name = "dp";
  info->size = 4;
  info->timeout = 3s;
  info->device = {DeviceType::cuda, 2};
  const CapturingGang gang(info, 3);
  EXPECT_EQ(gang.rank(), 3);
  EXPECT_EQ(gang.size(), 4);
  EXPECT_EQ(gang.name(), "dp");
  EXPECT_EQ(gang.timeout(), Duration(3s));
  EXPECT_EQ(gang.device(), (Device{DeviceType::cuda, 2}));
  EXPECT_EQ(&gang.info(), info.get());
}

TEST(Gang, TheTimeoutOfACallReplacesTheGangs) {
  CapturingGang gang;
  gang.barrier();
  gang.barrier({.timeout = 20ms});
  gang.barrier({.timeout = no_timeout});
  EXPECT_EQ(gang.sent[0].operation.timeout, default_timeout);
  EXPECT_EQ(gang.sent[1].operation.timeout, Duration(20ms));
  EXPECT_EQ(gang.sent[2].operation.timeout, no_timeout);
}

TEST(Gang, TimeoutsOfACallMustBePositive) {
  CapturingGang gang;
  for (const Duration timeout : {Duration(0), Duration(-1)}) {
    EXPECT_THROW(gang.barrier({.timeout = timeout}), InvalidArgument);
    EXPECT_THROW(gang.start_barrier({.timeout = timeout}), InvalidArgument);
  }
  EXPECT_TRUE(gang.sent.empty());
}

TEST(Gang, ACallCarriesItsLabelItsPlaceAndItsGuardedMemory) {
  CapturingGang gang;
  std::array<float, 2> memory{};
  const std::array guarded = {view(memory)};
  gang.barrier({.label = "step 3", .guarded = guarded}, CallSite::at("program.toml", 12));
  EXPECT_EQ(gang.only().label, "step 3");
  EXPECT_EQ(gang.only().collective().call_site, CallSite::at("program.toml", 12));
  EXPECT_EQ(gang.only().operation.guarded.data(), guarded.data());
  gang.barrier();
  EXPECT_EQ(to_string(gang.sent[1].collective().call_site),
            "gang_test.cc:" + std::to_string(__LINE__ - 2));
}

TEST(Gang, AReductionCarriesItsLabelAndItsGuardedMemory) {
  CapturingGang gang;
  std::array<float, 2> memory{};
  const std::array guarded = {view(memory)};
  gang.all_reduce(view(memory), ReduceOperation::sum, {.label = "step 3", .guarded = guarded});
  EXPECT_EQ(gang.only().label, "step 3");
  EXPECT_EQ(gang.only().operation.guarded.data(), guarded.data());
}

TEST(Gang, AStartedFormBlocksWhereTheCallSaysSo) {
  CapturingGang gang;
  const auto state = test::pending_work();
  state->got = {0, 7};
  gang.work = state;
  std::array<float, 2> memory{};
  Work work = gang.start_recv(view(memory), 0, 7, {.mode = CallMode::blocking});
  EXPECT_TRUE(state->complete);
  EXPECT_TRUE(gang.only().collective().blocking);
  EXPECT_TRUE(work.test());
  EXPECT_EQ(work.received().tag, 7);
}

TEST(Gang, ABlockingFormBlocksWhateverTheCallSays) {
  CapturingGang gang;
  const auto state = test::pending_work();
  gang.work = state;
  gang.barrier({.mode = CallMode::started});
  EXPECT_TRUE(state->complete);
  EXPECT_TRUE(gang.only().collective().blocking);
}

TEST(Gang, TheBlockingFormStartsAndWaits) {
  CapturingGang gang;
  const auto state = test::pending_work();
  gang.work = state;
  gang.barrier();
  EXPECT_TRUE(state->complete);
  EXPECT_TRUE(gang.only().collective().blocking);
}

TEST(Gang, TheStartedFormDoesNotWait) {
  CapturingGang gang;
  const auto state = test::pending_work();
  gang.work = state;
  Work work = gang.start_barrier();
  EXPECT_FALSE(state->complete);
  EXPECT_FALSE(gang.only().collective().blocking);
  work.wait();
  EXPECT_TRUE(state->complete);
}

TEST(Gang, TheBlockingFormThrowsWhatTheWorkThrows) {
  CapturingGang gang;
  gang.work = test::failing_work("broken");
  EXPECT_THROW(gang.barrier(), GangError);
}

TEST(GangClose, IsIdempotent) {
  CapturingGang gang;
  EXPECT_FALSE(gang.is_closed());
  gang.close();
  gang.close();
  EXPECT_TRUE(gang.is_closed());
  EXPECT_EQ(gang.closes, 1);
}

TEST(GangClose, EveryOperationAfterwardsIsAnInvalidOperation) {
  CapturingGang gang;
  gang.close();
  float value = 0;
  const TensorView tensor = view_of(value);
  const ReduceOperation sum = ReduceOperation::sum;
  std::vector<Object> objects;
  const auto refused = [](auto call) { EXPECT_THROW(call(), InvalidOperation); };
  refused([&] { gang.all_reduce(tensor, sum); });
  refused([&] { gang.reduce(tensor, sum, 0); });
  refused([&] { gang.reduce_scatter(tensor, tensor, sum); });
  refused([&] { gang.all_gather(tensor, tensor); });
  refused([&] { gang.all_gather_to_list({}, tensor); });
  refused([&] { gang.gather({}, tensor, 0); });
  refused([&] { gang.scatter(tensor, {}, 0); });
  refused([&] { gang.all_to_all(tensor, tensor); });
  refused([&] { gang.broadcast(tensor); });
  refused([&] { gang.broadcast_objects(objects); });
  refused([&] { gang.barrier(); });
  refused([&] { gang.monitored_barrier(1s); });
  refused([&] { gang.send(tensor, 0); });
  refused([&] { gang.recv(tensor); });
  refused([&] { gang.batch({}); });
  refused([&] { gang.create_gang({}); });
  refused([&] { gang.split({}); });
  EXPECT_TRUE(gang.sent.empty());
}

TEST(GangClose, WrongArgumentsDoNotHideThatTheGangIsClosed) {
  CapturingGang gang;
  gang.close();
  EXPECT_THROW(gang.broadcast(TensorView(), 77), InvalidOperation);
}

TEST(GangAbort, ReachesTheBackendUnlessClosed) {
  CapturingGang gang;
  gang.abort();
  gang.abort();
  EXPECT_EQ(gang.aborts, 2);
  gang.close();
  gang.abort();
  EXPECT_EQ(gang.aborts, 2);
}

TEST(CallOnAGang, HasItsPeerAsARankOfTheRootGang) {
  const GangInfo dp{.name = "dp", .root_ranks = {5, 2}, .size = 2};
  Collective call{.kind = OperationKind::broadcast};
  for (const auto& [peer, in_root] : {std::pair(0, 5), {1, 2}, {2, 2}, {no_rank, no_rank}}) {
    call.peer = peer;
    EXPECT_EQ(peer_in_root(call, dp), in_root) << peer;
  }
  call.peer = 0;
  EXPECT_EQ(describe(call, dp).peer, 5);
  call = {.kind = OperationKind::recv, .peer = any_rank};
  EXPECT_EQ(describe(call, dp).peer, any_rank);
  call = {.kind = OperationKind::barrier};
  EXPECT_EQ(describe(call, dp), describe(call));
  // Whose members are imaginary has no ranks of a root gang.
  call = {.kind = OperationKind::send, .peer = 1};
  EXPECT_EQ(describe(call, {.name = "fake", .size = 4}).peer, 1);
}

TEST(GangLabel, OfImaginaryMembersCountsThem) {
  EXPECT_EQ(label_of({.name = "dp", .size = 1}), "dp[0]");
  EXPECT_EQ(label_of({.name = "dp", .size = 2}), "dp[0,1]");
  EXPECT_EQ(label_of({.name = "dp", .size = 4}), "dp[0-3]");
}

}  // namespace
}  // namespace gang
