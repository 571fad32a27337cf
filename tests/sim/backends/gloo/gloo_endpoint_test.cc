#include "sim/backends/gloo/gloo_endpoint.h"

#include <gloo/common/error.h>
#include <gloo/transport/pair.h>

#include "sim/backends/gloo/gloo_network.h"
#include "sim/backends/gloo/gloo_roots.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

// Two or more ranks, each with a bare endpoint: what Gloo's algorithms see.
class GlooEndpointTest : public testing::Test {
 protected:
  using Body = std::function<void(gloo::transport::Context&, Runtime&)>;

  static Report run_endpoints(SimulationOptions options, const Body& body) {
    options.backend = SimulatedBackend::gloo;
    std::vector<int> root_ranks;
    for (int rank = 0; rank < options.world_size; ++rank) root_ranks.push_back(rank);
    return run(options, [&](SimulatedRank& rank) {
      // The run's network belongs to the root gang; a separate membership keeps clear of it.
      const auto endpoint = gloo_network_of(rank.world())
                                .connect({.prefix = "test",
                                          .rank = rank.rank(),
                                          .size = rank.world_size(),
                                          .root_ranks = root_ranks},
                                         default_timeout);
      endpoint->setTimeout(std::chrono::minutes(1));
      body(*endpoint, rank.runtime());
    });
  }
};

// In which schedules one ends like this in which rank 0 closes its connection and rank 1 sends, or
// receives.
TEST_F(GlooEndpointTest, WhatAClosedConnectionEndsAnotherScheduleMayNot) {
  const auto schedules = [](bool is_first, bool closes, bool receives = false) {
    return run_endpoints({.world_size = 2},
                         [=](gloo::transport::Context& context, Runtime& runtime) {
                           int value = 0;
                           const auto buffer = context.createUnboundBuffer(&value, sizeof(value));
                           if ((context.rank == 0) != is_first) runtime.sleep_for(1ms);
                           if (!closes && context.rank == 0) {
                             buffer->recv(1, 5);
                             EXPECT_TRUE(buffer->waitRecv());
                             return;
                           }
                           if (!closes) {
                             buffer->send(0, 5);
                             EXPECT_TRUE(buffer->waitSend());
                             return;
                           }
                           if (context.rank == 0) return context.getPair(1)->close();
                           EXPECT_THROW(
                               {
                                 if (receives) buffer->recv(0, 5);
                                 if (receives) buffer->waitRecv();
                                 buffer->send(0, 5);
                                 buffer->waitSend();
                               },
                               gloo::IoException);
                         })
        .schedules;
  };
  EXPECT_EQ(schedules(true, false), Schedules::every);
  EXPECT_EQ(schedules(false, false), Schedules::every);
  EXPECT_EQ(schedules(true, true), Schedules::at_least_this);
  EXPECT_EQ(schedules(false, true), Schedules::at_least_this);
  EXPECT_EQ(schedules(true, true, true), Schedules::at_least_this);
  EXPECT_EQ(schedules(false, true, true), Schedules::at_least_this);
}

TEST_F(GlooEndpointTest, SendsAndReceives) {
  const Report report =
      run_endpoints({.world_size = 2}, [](gloo::transport::Context& context, Runtime&) {
        std::array<int, 3> values = {context.rank, context.rank, context.rank};
        const auto buffer = context.createUnboundBuffer(values.data(), sizeof(values));
        const int peer = 1 - context.rank;
        int from = -1;
        if (context.rank == 0) {
          buffer->send(peer, 5, 4);
          EXPECT_TRUE(buffer->waitSend());
        } else {
          buffer->recv(peer, 5, 4, 8);
          EXPECT_TRUE(buffer->waitRecv(&from));
          EXPECT_THAT(values, ElementsAre(1, 0, 0));
          EXPECT_EQ(from, 0);
        }
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST_F(GlooEndpointTest, WaitTimeoutClosesConnections) {
  const Report report = run_endpoints(
      {.world_size = 2, .pending_timeouts = PendingTimeouts::fire},
      [](gloo::transport::Context& context, Runtime& runtime) {
        const auto buffer = context.createUnboundBuffer(nullptr, 0);
        const int peer = 1 - context.rank;
        buffer->recv(peer, 5);
        try {
          buffer->waitRecv(std::chrono::seconds(context.rank == 0 ? 8 : 30));
          ADD_FAILURE() << "received a message that was never sent";
        } catch (const gloo::IoException& error) {
          EXPECT_EQ(runtime.now(), 8s);
          EXPECT_THAT(error.what(),
                      HasSubstr(context.rank == 0 ? "Timed out waiting 8000ms for recv"
                                                  : "Connection closed by peer"));
        }
        EXPECT_THROW(buffer->send(peer, 5), gloo::IoException);
      });
  EXPECT_EQ(report.outcome, Outcome::completed) << to_string(report);
}

TEST_F(GlooEndpointTest, AbortedWaitReturnsFalse) {
  const Report report =
      run_endpoints({.world_size = 1}, [](gloo::transport::Context& context, Runtime& runtime) {
        const auto buffer = context.createUnboundBuffer(nullptr, 0);
        const auto helper = runtime.start_thread("helper", [&] {
          runtime.sleep_for(1s);
          buffer->abortWaitRecv();
        });
        EXPECT_FALSE(buffer->waitRecv());
        EXPECT_EQ(runtime.now(), 1s);
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST_F(GlooEndpointTest, ClosingAPairReachesThePeer) {
  const Report report =
      run_endpoints({.world_size = 2}, [](gloo::transport::Context& context, Runtime& runtime) {
        if (context.rank == 0) {
          runtime.sleep_for(3s);
          context.getPair(1)->close();
          return;
        }
        const auto buffer = context.createUnboundBuffer(nullptr, 0);
        buffer->recv(0, 5);
        EXPECT_THROW(buffer->waitRecv(), gloo::IoException);
        EXPECT_EQ(runtime.now(), 3s);
      });
  EXPECT_TRUE(report.holds()) << to_string(report);
}

TEST_F(GlooEndpointTest, UnsatisfiableWaitsAreADeadlock) {
  const Report report =
      run_endpoints({.world_size = 2}, [](gloo::transport::Context& context, Runtime&) {
        const auto buffer = context.createUnboundBuffer(nullptr, 0);
        buffer->recv(1 - context.rank, std::uint64_t{4} << 56U);
        buffer->waitRecv();
      });
  ASSERT_EQ(report.outcome, Outcome::deadlock);
  ASSERT_EQ(report.blocked.size(), 2U);
  EXPECT_EQ(to_string(report.blocked[0].call), "receive of all_reduce");
  EXPECT_THAT(report.blocked[0].waits_for, ElementsAre(1));
  EXPECT_EQ(report.blocked[0].would_time_out_after_ns, 60'000'000'000U);
}

TEST_F(GlooEndpointTest, BoundBuffersAreRefused) {
  run_endpoints({.world_size = 2}, [](gloo::transport::Context& context, Runtime&) {
    EXPECT_EQ(context.getPair(context.rank), nullptr);
    auto& pair = context.getPair(1 - context.rank);
    EXPECT_THROW(pair->createSendBuffer(1, nullptr, 0), gloo::InvalidOperationException);
    EXPECT_THROW(pair->createRecvBuffer(1, nullptr, 0), gloo::InvalidOperationException);
  });
}

}  // namespace
}  // namespace gang::sim
