#include "gang/store/faulty_store.h"

#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/memory_store.h"
#include "tests/gang/store/clock_runtime.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class FaultyStores : public testing::Test {
 protected:
  std::shared_ptr<Store> with(std::vector<StoreFault> faults, Duration patience = 20ms) {
    return make_faulty_store(*runtime_, intact_,
                             {.faults = std::move(faults), .patience = patience});
  }

  std::unique_ptr<Runtime> runtime_ = make_real_runtime();
  std::shared_ptr<Store> intact_ = make_memory_store(*runtime_);
};

TEST_F(FaultyStores, WithoutFaultsEveryOperationIsThatOfTheStore) {
  const auto store = with({});
  store->set_text("set", "1");
  store->append_text("set", "2");
  EXPECT_EQ(store->add("add", 3), 3);
  EXPECT_EQ(store->compare_set_text("compare", "", "4"), "4");
  EXPECT_EQ(store->get_text("set", 1s), "12");
  EXPECT_EQ(store->try_get_text("absent"), std::nullopt);
  store->wait(std::vector<std::string>{"add", "set"}, 1s);
  EXPECT_TRUE(store->check(std::vector<std::string>{"add"}));
  EXPECT_TRUE(store->delete_key("add"));
  EXPECT_EQ(store->num_keys(), 2);
  EXPECT_EQ(store->description(), "memory");
}

TEST_F(FaultyStores, AnUnavailableStoreAnswersLaterOrNotInTime) {
  const auto for_ever = with({{.kind = StoreFaultKind::unavailable}});
  EXPECT_THAT(
      [&] { for_ever->set_text("a", "1"); },
      fails_with(StoreErrorKind::timeout, "set of 'a' at memory got no answer within 20 ms"));
  EXPECT_THAT([&] { for_ever->get("a", 5ms); },
              fails_with(StoreErrorKind::timeout, "got no answer within 5 ms"));
  EXPECT_EQ(intact_->num_keys(), 0) << "nothing came to it";
  const TimePoint before = runtime_->now();
  const auto for_a_while = with({{.kind = StoreFaultKind::unavailable, .lasts = 30ms}}, 10s);
  for_a_while->set_text("a", "1");
  EXPECT_GE(runtime_->now() - before, 30ms);
  EXPECT_EQ(intact_->get_text("a", 1s), "1");
}

TEST_F(FaultyStores, AFaultDoesNotAffectRequestsBeforeItBegins) {
  const auto store =
      with({{.kind = StoreFaultKind::unavailable, .begins = std::chrono::minutes(1)}});
  store->set_text("a", "1");
  EXPECT_EQ(store->get_text("a", 1s), "1");
}

TEST_F(FaultyStores, ASlowStoreDelaysEachAnswer) {
  const auto store = with({{.kind = StoreFaultKind::slow, .delay = 15ms}}, 10s);
  const TimePoint before = runtime_->now();
  store->set_text("a", "1");
  EXPECT_EQ(store->get_text("a", 10s), "1");
  EXPECT_GE(runtime_->now() - before, 30ms);
  EXPECT_THAT(
      [&] { store->get("a", 5ms); },
      fails_with(StoreErrorKind::timeout, "get of 'a' at memory got no answer within 5 ms"));
}

TEST_F(FaultyStores, ALossyStoreLosesTheRequestOrTheAnswer) {
  int arrived = 0;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const auto store = make_faulty_store(
        *runtime_, intact_,
        {.faults = {{.kind = StoreFaultKind::lossy, .request = 1}}, .patience = 1ms, .seed = seed});
    const std::int64_t known = store->add("count", 0);
    EXPECT_THAT([&] { store->add("count", 1); },
                fails_with(StoreErrorKind::timeout, "add of 'count'"));
    const std::int64_t after = store->add("count", 0);
    EXPECT_TRUE(after == known || after == known + 1);
    arrived += static_cast<int>(after - known);
  }
  EXPECT_GT(arrived, 0);
  EXPECT_LT(arrived, 20);
}

TEST_F(FaultyStores, ASeedDecidesWhatIsLost) {
  const auto lost_of = [&](std::uint64_t seed) {
    const auto store =
        make_faulty_store(*runtime_, intact_,
                          {.faults = {{.kind = StoreFaultKind::lossy, .probability = 0.5}},
                           .patience = Duration(1),
                           .seed = seed});
    std::vector<bool> lost;
    for (int i = 0; i < 30; ++i) {
      try {
        store->set_text("a", "1");
        lost.push_back(false);
      } catch (const StoreError&) {
        lost.push_back(true);
      }
    }
    return lost;
  };
  EXPECT_EQ(lost_of(1), lost_of(1));
  EXPECT_NE(lost_of(1), lost_of(2));
  EXPECT_THAT(lost_of(1), testing::Contains(true));
  EXPECT_THAT(lost_of(1), testing::Contains(false));
}

TEST_F(FaultyStores, ClientsShareTheirFaultsButNotTheirCancellation) {
  const auto store = with({{.kind = StoreFaultKind::lossy, .request = 1}}, 1ms);
  const auto other = store->new_client();
  store->set_text("a", "1");
  EXPECT_THAT([&] { other->set_text("a", "2"); }, fails_with(StoreErrorKind::timeout, "'a'"));
  store->cancel();
  EXPECT_EQ(other->num_keys(), 1);
}

TEST_F(FaultyStores, CancelEndsTheWaitForAnAnswer) {
  const auto store = with({{.kind = StoreFaultKind::unavailable}}, no_timeout);
  const auto canceller = runtime_->start_thread("canceller", [&] {
    runtime_->sleep_for(5ms);
    store->cancel();
  });
  EXPECT_THAT([&] { store->set_text("a", "1"); },
              fails_with(StoreErrorKind::cancelled, "set of 'a' at memory was cancelled"));
}

// The times of faults, on a clock that shows a minute when the stores are made.
class FaultTimes : public testing::Test {
 protected:
  // How long a request lasts; `after` the store was made.
  Duration time_of_a_request(std::vector<StoreFault> faults, Duration after = Duration(0)) {
    ClockRuntime clock(std::chrono::minutes(1));
    const auto store = make_faulty_store(clock, make_memory_store(clock),
                                         {.faults = std::move(faults), .patience = 100s});
    clock.sleep_for(after);
    const TimePoint before = clock.now();
    store->set_text("a", "1");
    return clock.now() - before;
  }
};

TEST_F(FaultTimes, CountFromTheMakingOfTheStore) {
  const StoreFault fault{.kind = StoreFaultKind::unavailable, .begins = 2s, .lasts = 3s};
  EXPECT_EQ(time_of_a_request({fault}), 0s);
  EXPECT_EQ(time_of_a_request({fault}, 2s), 3s);
  EXPECT_EQ(time_of_a_request({fault}, 4s), 1s);
  EXPECT_EQ(time_of_a_request({fault}, 5s), 0s);
}

TEST_F(FaultTimes, AStoreThatIsUnavailableTwiceAnswersWhenBothAreOver) {
  const StoreFault longer{.kind = StoreFaultKind::unavailable, .lasts = 3s};
  const StoreFault shorter{.kind = StoreFaultKind::unavailable, .lasts = 2s};
  EXPECT_EQ(time_of_a_request({longer, shorter}), 3s);
  EXPECT_EQ(time_of_a_request({shorter, longer}), 3s);
}

TEST_F(FaultTimes, DelaysAddUp) {
  const StoreFault slow{.kind = StoreFaultKind::slow, .lasts = 7s, .delay = 5s};
  EXPECT_EQ(time_of_a_request({slow, slow}), 10s);
  EXPECT_EQ(time_of_a_request({slow, slow}, Duration(7s) - Duration(1)), 10s);
  EXPECT_EQ(time_of_a_request({slow, slow}, 7s), 0s) << "no longer";
}

TEST_F(FaultyStores, CancellingReachesTheStore) {
  with({})->cancel();
  EXPECT_THAT([&] { intact_->num_keys(); }, fails_with(StoreErrorKind::cancelled, "num_keys"));
}

TEST_F(FaultyStores, ImpossibleOptionsAreRefused) {
  EXPECT_THROW(make_faulty_store(*runtime_, nullptr, {}), InvalidArgument);
  EXPECT_THROW(with({}, Duration(0)), InvalidArgument);
  EXPECT_THROW(with({{.delay = -1ms}}), InvalidArgument);
  EXPECT_THROW(with({{.probability = 1.5}}), InvalidArgument);
}

TEST(StoreFault, IsPrintedOnOneLine) {
  EXPECT_EQ(to_string(StoreFault{}), "unavailable");
  EXPECT_EQ(to_string(StoreFault{.begins = 1s, .lasts = 2s}), "unavailable from 1 s for 2 s");
  EXPECT_EQ(to_string(StoreFault{.kind = StoreFaultKind::slow, .delay = 5ms}), "slow by 5 ms");
  EXPECT_EQ(to_string(StoreFault{.kind = StoreFaultKind::lossy, .request = 3}),
            "lossy at request 3");
}

}  // namespace
}  // namespace gang
