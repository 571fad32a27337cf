#include "gang/gloo/gloo_gang.h"

#include <atomic>
#include <chrono>
#include <latch>

#include <nlohmann/json.hpp>

#include "gang/object.h"
#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using test::on_gloo_ranks;
using test::RankError;
using test::run_gloo_ranks;

TEST(GlooGang, HasTheInfoItWasMadeWith) {
  on_gloo_ranks({.size = 2, .timeout = 7s}, [](std::shared_ptr<Gang>& gang) {
    EXPECT_EQ(gang->size(), 2);
    EXPECT_EQ(gang->info().backend, "gloo");
    EXPECT_EQ(gang->name(), "root");
    EXPECT_EQ(label_of(gang->info()), "root[0,1]");
    EXPECT_EQ(gang->timeout(), Duration(7s));
  });
}

TEST(GlooGang, StartedOperationsRunInTheOrderOfTheCalls) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t values[] = {1, 10, 100};
    std::vector<Work> works;
    for (std::int32_t& value : values)
      works.push_back(gang->start_all_reduce(view_of(value), ReduceOperation::sum));
    std::int32_t last = 1000;
    gang->all_reduce(view_of(last), ReduceOperation::sum);  // after those before it
    EXPECT_TRUE(works[0].test() && works[1].test() && works[2].test());
    EXPECT_EQ(values[0] + values[1] + values[2] + last, 3333);
  });
}

TEST(GlooGang, WaitsOfStartedOperationsCanBeBounded) {
  std::atomic<bool> may_come = false;
  on_gloo_ranks({.size = 2}, [&may_come](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 1) {
      while (!may_come) std::this_thread::sleep_for(1ms);
      gang->barrier();
      return;
    }
    Work work = gang->start_barrier();
    EXPECT_FALSE(work.test());
    EXPECT_FALSE(work.wait(20ms));
    may_come = true;
    EXPECT_TRUE(work.wait(10s));
    EXPECT_TRUE(work.test());
  });
}

TEST(GlooGang, AnyOfSeveralGangsWorksCanBeWaitedFor) {
  std::atomic<bool> may_come = false;
  on_gloo_ranks({.size = 2}, [&may_come](std::shared_ptr<Gang>& gang) {
    const int both[] = {0, 1};
    const auto other = gang->create_gang(both);
    if (gang->rank() == 1) {
      other->barrier();
      while (!may_come) std::this_thread::sleep_for(1ms);
      gang->barrier();
      return;
    }
    Work works[] = {gang->start_barrier(), other->start_barrier()};
    EXPECT_EQ(Work::wait_any(works), 1U);
    may_come = true;
    Work::wait_all(works);
  });
}

TEST(GlooGang, ObjectsTravelByValue) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    std::vector<Object> objects(2);
    if (gang->rank() == 2) objects = {Object{{"a", {1, 2.5, "x"}}}, Object(nullptr)};
    gang->broadcast_objects(objects, 2);
    EXPECT_EQ(objects[0], (Object{{"a", {1, 2.5, "x"}}}));
    EXPECT_TRUE(objects[1].is_null());
  });
}

TEST(GlooGang, ADifferentNumberOfObjectsIsAMismatch) {
  const auto errors = run_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    std::vector<Object> objects(gang->rank() == 0 ? 2 : 3);
    gang->broadcast_objects(objects);
    gang->barrier();
  });
  EXPECT_EQ(errors[0].kind, "mismatch");
  EXPECT_EQ(errors[1].kind, "mismatch");
}

TEST(GlooGang, OfOneRankNeedsNoPeers) {
  on_gloo_ranks({.size = 1}, [](std::shared_ptr<Gang>& gang) {
    std::vector<float> values = {1, 2};
    std::vector<float> output(2);
    const std::vector<TensorView> list = {view(output)};
    gang->all_reduce(view(values), ReduceOperation::mean);
    gang->reduce(view(output), view(values), ReduceOperation::sum, 0);
    EXPECT_EQ(output, values);
    gang->reduce_scatter(view(output), view(values), ReduceOperation::sum);
    gang->all_gather(view(output), view(values));
    output = {0, 0};
    gang->gather(list, view(values), 0);
    EXPECT_EQ(output, values);
    output = {0, 0};
    gang->scatter(view(output), std::vector<TensorView>{view(values)}, 0);
    EXPECT_EQ(output, values);
    output = {0, 0};
    gang->all_to_all(view(output), view(values));
    EXPECT_EQ(output, values);
    gang->broadcast(view(values));
    gang->monitored_barrier(1s);
    const int only[] = {0};
    gang->create_gang(only)->start_barrier().wait();
    EXPECT_EQ(gang->split({.color = 3})->size(), 1);
    EXPECT_EQ(gang->split({}), nullptr);
  });
}

TEST(GlooGang, ALateRankIsATimeoutForAll) {
  const auto began = std::chrono::steady_clock::now();
  const auto errors =
      run_gloo_ranks({.size = 3, .timeout = 300ms}, [](std::shared_ptr<Gang>& gang) {
        if (gang->rank() == 2) std::this_thread::sleep_for(900ms);
        std::vector<std::int32_t> values(10);
        gang->all_reduce(view(values), ReduceOperation::sum);
      });
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  for (const RankError& error : errors) EXPECT_EQ(error.kind, "timeout") << error.text;
  EXPECT_GE(errors[0].elapsed, Duration(290ms));
  EXPECT_LT(errors[0].elapsed, Duration(600ms));
}

TEST(GlooGang, TimeoutsCoverAWholeOperation) {
  // Rank 1 sends a message of rank 0's scatter now and then, so that each wait is short.
  const auto errors = run_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t value = 0;
    std::this_thread::sleep_for(gang->rank() * 200ms);
    gang->all_reduce(view_of(value), ReduceOperation::sum, {.timeout = 500ms});
  });
  EXPECT_EQ(errors[0].kind, "timeout") << errors[0].text;
  EXPECT_LT(errors[0].elapsed, Duration(700ms));
}

TEST(GlooGang, ALostPeerIsNotATimeoutAndAllRanksLearnOfItAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  const auto errors = run_gloo_ranks({.size = 5}, [](std::shared_ptr<Gang>& gang) {
    gang->barrier();
    if (gang->rank() == 2) {
      gang.reset();
      return;
    }
    std::vector<std::int32_t> values(1000);
    gang->all_reduce(view(values), ReduceOperation::sum);
  });
  EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  EXPECT_EQ(errors[2].kind, "");
  for (const std::size_t rank : {0U, 1U, 3U, 4U}) {
    EXPECT_EQ(errors[rank].kind, "peer_failed") << errors[rank].text;
    EXPECT_EQ(errors[rank].ranks_at_fault, std::vector<int>{2}) << errors[rank].text;
  }
}

TEST(GlooGang, AbortEndsPendingAndLaterOperationsOnEveryRank) {
  const auto errors = run_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    gang->barrier();
    if (gang->rank() == 1) {
      std::this_thread::sleep_for(50ms);
      gang->abort();
    }
    const RankError first = test::error_of([&] { gang->barrier(); });
    EXPECT_EQ(first.kind, "aborted") << first.text;
    std::int32_t value = 0;
    gang->broadcast(view_of(value));
  });
  for (const RankError& error : errors) {
    EXPECT_EQ(error.kind, "aborted");
    EXPECT_NE(error.text.find("rank 1 aborted the gang"), std::string::npos) << error.text;
  }
}

TEST(GlooGang, AbortEndsTheCallersStartedOperationsAtOnce) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    float value = 0;
    if (gang->rank() == 1) {
      EXPECT_THROW(gang->recv(view_of(value), 0), GangError);
      return;
    }
    Work barrier = gang->start_barrier();
    Work message = gang->start_recv(view_of(value), 1);
    gang->abort();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_THROW(barrier.wait(), GangError);
    EXPECT_THROW(message.wait(), GangError);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 5s);
  });
}

TEST(GlooGang, CallsThatDoNotMatchEndWithATimeoutNotTheProcess) {
  for (int variant = 0; variant < 4; ++variant) {
    const auto errors =
        run_gloo_ranks({.size = 2, .timeout = 200ms}, [variant](std::shared_ptr<Gang>& gang) {
          const bool odd = gang->rank() == 1;
          std::vector<std::int32_t> values(odd && variant == 0 ? 8 : 4);
          const auto operation = odd && variant == 1 ? ReduceOperation::max : ReduceOperation::sum;
          if (variant == 2) return gang->broadcast(view(values), odd ? 1 : 0);
          if (variant == 3 && odd) return gang->barrier();
          gang->all_reduce(view(values), operation);
        });
    for (const RankError& error : errors) EXPECT_EQ(error.kind, "timeout") << error.text;
  }
}

TEST(GlooGang, IsClosedOnceAndRefusesLaterCalls) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    gang->barrier();
    gang->close();
    gang->close();
    EXPECT_THROW(gang->barrier(), InvalidOperation);
  });
}

TEST(GlooGang, ClosingItEndsWhatIsUnderWay) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 1) return;
    Work work = gang->start_barrier();
    gang->close();
    EXPECT_THROW(work.wait(), GangError);
  });
}

// More than the connection holds, to a rank that is there and does not receive it.
TEST(GlooGang, ClosingItEndsAMessageThatIsUnderWay) {
  std::latch is_over(2);
  on_gloo_ranks({.size = 2}, [&is_over](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 0) {
      const std::vector<float> large(16 << 20);
      const auto begun = std::chrono::steady_clock::now();
      Work work = gang->start_send(view(large), 1);
      gang->close();
      EXPECT_THROW(work.wait(), GangError);
      EXPECT_LT(std::chrono::steady_clock::now() - begun, 5s);
    }
    is_over.arrive_and_wait();
  });
}

}  // namespace
}  // namespace gang
