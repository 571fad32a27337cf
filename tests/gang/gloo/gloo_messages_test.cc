#include "gang/gloo/gloo_messages.h"

#include <algorithm>

#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using test::on_gloo_ranks;
using test::run_gloo_ranks;

TEST(GlooMessages, ArriveInOrderByTag) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t values[] = {1, 2, 3};
    if (gang->rank() == 0) {
      Work works[] = {gang->start_send(view_of(values[0]), 1, 5),
                      gang->start_send(view_of(values[1]), 1, 6),
                      gang->start_send(view_of(values[2]), 1, 5)};
      Work::wait_all(works);
      return;
    }
    std::int32_t got = 0;
    const Received received = gang->recv(view_of(got), 0, 6);
    EXPECT_EQ(got, 2);
    EXPECT_EQ(received.source_rank, 0);
    EXPECT_EQ(received.tag, 6);
    gang->recv(view_of(got), 0, 5);
    EXPECT_EQ(got, 1);
    gang->recv(view_of(got), 0, 5);
    EXPECT_EQ(got, 3);
  });
}

TEST(GlooMessages, AReceiveFromAnyRankReturnsItsSource) {
  on_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t value = gang->rank() * 11;
    if (gang->rank() != 3) return gang->send(view_of(value), 3, 2);
    std::vector<int> sources;
    for (int i = 0; i < 3; ++i) {
      std::int32_t got = -1;
      const int source = gang->recv(view_of(got), any_rank, 2).source_rank;
      EXPECT_EQ(got, source * 11);
      sources.push_back(source);
    }
    std::ranges::sort(sources);
    EXPECT_EQ(sources, (std::vector{0, 1, 2}));
  });
}

TEST(GlooMessages, OfABatchProgressTogether) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    std::vector<std::int32_t> outgoing(100'000, gang->rank());
    std::vector<std::int32_t> incoming(100'000);
    const int next = (gang->rank() + 1) % 3;
    const int previous = (gang->rank() + 2) % 3;
    for (int round = 0; round < 2; ++round) {
      const PointToPoint batch[] = {{OperationKind::send, view(outgoing), next, 0},
                                    {OperationKind::recv, view(incoming), previous, 0}};
      if (round == 0)
        gang->batch(batch);
      else
        gang->start_batch(batch).wait();
      EXPECT_EQ(incoming, std::vector<std::int32_t>(100'000, previous));
    }
  });
}

TEST(GlooMessages, AreTestedAndWaitedForInAnyOrder) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    const int other = 1 - gang->rank();
    std::int32_t out = gang->rank() + 40;
    std::int32_t in = 0;
    std::int32_t late = 0;
    Work later = gang->start_recv(view_of(late), other, 9);
    Work receive = gang->start_recv(view_of(in), other, 1);
    Work send = gang->start_send(view_of(out), other, 1);
    while (!send.test()) {
    }
    Work both[] = {std::move(later), std::move(receive)};
    EXPECT_EQ(Work::wait_any(both), 1U);
    EXPECT_EQ(in, other + 40);
    EXPECT_FALSE(both[0].wait(10ms));
    gang->barrier();
    gang->send(view_of(out), other, 9);
    both[0].wait();
    EXPECT_EQ(late, other + 40);
    EXPECT_EQ(both[0].received().source_rank, other);
  });
}

TEST(GlooMessages, ToTheSameRankMeetTheirReceives) {
  for (const int size : {1, 2}) {
    on_gloo_ranks({.size = size}, [](std::shared_ptr<Gang>& gang) {
      std::int32_t out = 7;
      std::int32_t in = 0;
      Work send = gang->start_send(view_of(out), gang->rank(), 3);
      EXPECT_FALSE(send.test());
      const Received received = gang->recv(view_of(in), any_rank, 3);
      EXPECT_EQ(in, 7);
      EXPECT_EQ(received.source_rank, gang->rank());
      send.wait();
      Work receive = gang->start_recv(view_of(in), gang->rank(), 4);
      out = 8;
      gang->send(view_of(out), gang->rank(), 4);
      receive.wait();
      EXPECT_EQ(in, 8);
    });
  }
}

// Of another count, type or tag, it is another message: nothing is written past a shorter receive.
TEST(GlooMessages, ToTheSameRankMeetOnlyReceivesOfTheirSizeAndTag) {
  on_gloo_ranks({.size = 1}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t one = 0;
    std::vector<std::int32_t> two(2);
    std::int32_t tagged = 0;
    Work receives[] = {gang->start_recv(view_of(one), 0, 3), gang->start_recv(view(two), 0, 3),
                       gang->start_recv(view_of(tagged), 0, 4)};
    std::vector<std::int32_t> outgoing = {5, 6};
    gang->send(view(outgoing), 0, 3);
    receives[1].wait();
    EXPECT_EQ(two, outgoing);
    EXPECT_FALSE(receives[0].test());
    EXPECT_FALSE(receives[2].test());
    std::int32_t seven = 7;
    gang->send(view_of(seven), 0, 4);
    gang->send(view_of(outgoing[0]), 0, 3);
    Work::wait_all(receives);
    EXPECT_EQ(tagged, 7);
    EXPECT_EQ(one, 5);
  });
}

TEST(GlooMessages, WithoutElementsMeetToo) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    std::vector<float> none;
    if (gang->rank() == 0) return gang->send(view(none), 1);
    EXPECT_EQ(gang->recv(view(none), any_rank).source_rank, 0);
  });
}

TEST(GlooMessages, OfADifferentSizeDoNotEndTheProcess) {
  const auto errors =
      run_gloo_ranks({.size = 2, .timeout = 200ms}, [](std::shared_ptr<Gang>& gang) {
        std::vector<std::int32_t> values(gang->rank() == 0 ? 8 : 4);
        if (gang->rank() == 0) return gang->send(view(values), 1);
        gang->recv(view(values), 0);
      });
  EXPECT_EQ(errors[0].kind, "timeout") << errors[0].text;
  EXPECT_EQ(errors[1].kind, "timeout") << errors[1].text;
}

TEST(GlooMessages, ToTheSameRankTimeOutWithoutAReceive) {
  const auto errors = run_gloo_ranks({.size = 1}, [](std::shared_ptr<Gang>& gang) {
    float value = 0;
    gang->send(view_of(value), 0, 0, {.timeout = 50ms});
  });
  EXPECT_EQ(errors[0].kind, "timeout") << errors[0].text;
}

TEST(GlooMessages, AnyTagIsNotSupportedAndNothingIsSent) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    float value = 0;
    EXPECT_THROW(gang->recv(view_of(value), 1 - gang->rank(), any_tag), NotSupported);
    gang->barrier();
  });
}

TEST(GlooMessages, FromAnyRankEndWithTheGang) {
  const auto errors = run_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    gang->barrier();
    if (gang->rank() == 0) {
      std::this_thread::sleep_for(50ms);
      gang->abort();
      return;
    }
    float value = 0;
    Work work = gang->start_recv(view_of(value), any_rank);
    std::thread aborts([&gang] {
      std::this_thread::sleep_for(20ms);
      gang->abort();
    });
    aborts.join();
    work.wait();
  });
  EXPECT_EQ(errors[1].kind, "aborted") << errors[1].text;
}

TEST(GlooMessages, OfAnotherTypeAreNotReceived) {
  const auto errors =
      run_gloo_ranks({.size = 2, .timeout = 200ms}, [](std::shared_ptr<Gang>& gang) {
        float sent = 1;
        std::int32_t got = 0;
        if (gang->rank() == 0) return gang->send(view_of(sent), 1);
        gang->recv(view_of(got), 0);
      });
  EXPECT_EQ(errors[1].kind, "timeout") << errors[1].text;
  const auto own = run_gloo_ranks({.size = 1, .timeout = 50ms}, [](std::shared_ptr<Gang>& gang) {
    float sent = 1;
    std::int32_t got = 0;
    Work work = gang->start_send(view_of(sent), 0);
    gang->recv(view_of(got), 0);
  });
  EXPECT_EQ(own[0].kind, "timeout") << own[0].text;
}

TEST(GlooMessages, AReceiveThatWaitsInTheBackgroundLearnsOfItsOwnMessage) {
  on_gloo_ranks({.size = 1}, [](std::shared_ptr<Gang>& gang) {
    std::int32_t out = 7;
    std::int32_t got = 0;
    Work receive = gang->start_recv(view_of(got), 0);
    EXPECT_FALSE(receive.wait(5ms));
    Work send = gang->start_send(view_of(out), 0);
    EXPECT_TRUE(receive.wait(10s));
    send.wait();
    EXPECT_EQ(got, 7);
  });
}

}  // namespace
}  // namespace gang
