#include "gang/store/memory_store.h"

#include <atomic>

#include <gtest/gtest.h>

#include "tests/gang/store/clock_runtime.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class MemoryStores : public testing::Test {
 protected:
  std::unique_ptr<RuntimeThread> later(std::function<void()> body) {
    return runtime_->start_thread("later", [this, body = std::move(body)] {
      runtime_->sleep_for(2ms);
      body();
    });
  }

  std::unique_ptr<Runtime> runtime_ = make_real_runtime();
  std::shared_ptr<Store> store_ = make_memory_store(*runtime_);
};

TEST_F(MemoryStores, ClientsShareTheMap) {
  const std::shared_ptr<Store> other = store_->new_client();
  store_->set_text("a", "1");
  EXPECT_EQ(other->get_text("a", 1s), "1");
  other->append_text("a", "2");
  EXPECT_EQ(store_->try_get_text("a"), "12");
  EXPECT_EQ(store_->num_keys(), 1);
  EXPECT_TRUE(other->delete_key("a"));
  EXPECT_FALSE(store_->delete_key("a"));
  EXPECT_EQ(store_->try_get("a"), std::nullopt);
}

TEST_F(MemoryStores, MapsAreIndependent) {
  store_->set_text("a", "1");
  EXPECT_EQ(make_memory_store(*runtime_)->num_keys(), 0);
}

TEST_F(MemoryStores, GetWaitsForTheKey) {
  const auto setter = later([this] { store_->set_text("a", "1"); });
  EXPECT_EQ(store_->get_text("a", 10s), "1");
}

TEST_F(MemoryStores, EveryWayToMakeAKeyWakesWaiters) {
  const std::vector<std::string> keys = {"set", "add", "compare_set", "append"};
  const auto setter = later([this] {
    store_->set_text("set", "");
    store_->add("add", 1);
    store_->compare_set_text("compare_set", "", "x");
    store_->append_text("append", "x");
  });
  store_->wait(keys, 10s);
  EXPECT_TRUE(store_->check(keys));
}

TEST_F(MemoryStores, ACompareSetThatStoresNothingWakesNoWaiter) {
  const auto setter = later([this] { store_->compare_set_text("a", "old", "new"); });
  EXPECT_THAT([&] { store_->get("a", 10ms); }, fails_with(StoreErrorKind::timeout, "'a'"));
}

TEST_F(MemoryStores, ATimeoutNamesTheMissingKeys) {
  store_->set_text("b", "");
  const std::vector<std::string> keys = {"a", "b", "c"};
  EXPECT_THAT([&] { store_->wait(keys, 1ms); },
              fails_with(StoreErrorKind::timeout, "wait of 'a', 'c' at memory timed out after"));
}

TEST_F(MemoryStores, ATimeoutNamesOnlyKeysThatNeverCame) {
  const std::vector<std::string> keys = {"a", "b"};
  const auto setter = later([this] { store_->set_text("a", ""); });
  EXPECT_THAT([&] { store_->wait(keys, 100ms); },
              fails_with(StoreErrorKind::timeout, "wait of 'b' at memory timed out after"));
}

TEST_F(MemoryStores, AWaitLastsAsLongAsItsTimeout) {
  ClockRuntime clock(1s);
  const auto store = make_memory_store(clock);
  const std::vector<std::string> keys = {"a", "b"};
  EXPECT_THROW(store->get("a", 3s), StoreError);
  EXPECT_EQ(clock.now(), 4s);
  EXPECT_THROW(store->wait(keys, 5s), StoreError);
  EXPECT_EQ(clock.now(), 9s);
}

TEST_F(MemoryStores, AWaitThatTimedOutIsForgotten) {
  EXPECT_THROW(store_->get("a", 1ms), StoreError);
  store_->set_text("a", "1");
  EXPECT_EQ(store_->get_text("a", 1s), "1");
}

TEST_F(MemoryStores, CancellingEndsAPendingGet) {
  const auto canceller = later([this] { store_->cancel(); });
  EXPECT_THAT([&] { store_->get("a", no_timeout); },
              fails_with(StoreErrorKind::cancelled, "get of 'a' at memory was cancelled"));
}

TEST_F(MemoryStores, CancellingIsFinalForItsClientOnly) {
  const std::shared_ptr<Store> other = store_->new_client();
  store_->cancel();
  store_->cancel();
  EXPECT_THAT([&] { store_->set_text("a", "1"); }, fails_with(StoreErrorKind::cancelled, "set"));
  EXPECT_THAT([&] { store_->num_keys(); }, fails_with(StoreErrorKind::cancelled, "num_keys"));
  other->set_text("a", "1");
  EXPECT_EQ(store_->new_client()->get_text("a", 1s), "1");
}

TEST_F(MemoryStores, CancellingDoesNotEndAnothersWait) {
  const std::shared_ptr<Store> other = store_->new_client();
  const auto canceller = later([this, other] {
    store_->cancel();
    other->new_client()->set_text("a", "1");
  });
  EXPECT_EQ(other->get_text("a", 10s), "1");
}

TEST_F(MemoryStores, AddToAWordIsAnError) {
  store_->set_text("a", "word");
  EXPECT_THAT([&] { store_->add("a", 1); }, fails_with(StoreErrorKind::not_a_number, "'a'"));
  EXPECT_EQ(store_->get_text("a", 1s), "word");
}

TEST_F(MemoryStores, ConcurrentAddsAllCount) {
  constexpr int threads = 4;
  constexpr int adds = 500;
  {
    std::vector<std::unique_ptr<RuntimeThread>> adders;
    for (int i = 0; i < threads; ++i)
      adders.push_back(runtime_->start_thread("adder", [client = store_->new_client()] {
        for (int n = 0; n < adds; ++n) client->add("n", 1);
      }));
  }
  EXPECT_EQ(store_->get_text("n", 1s), std::to_string(threads * adds));
}

TEST_F(MemoryStores, OneOfManyWinsACompareSet) {
  std::atomic<int> winners = 0;
  {
    std::vector<std::unique_ptr<RuntimeThread>> racers;
    for (int i = 0; i < 4; ++i)
      racers.push_back(
          runtime_->start_thread("racer", [&winners, i, client = store_->new_client()] {
            const std::string mine = "racer " + std::to_string(i);
            if (client->compare_set_text("winner", "", mine) == mine) ++winners;
          }));
  }
  EXPECT_EQ(winners, 1);
}

TEST_F(MemoryStores, ManyWaitersAreAllWoken) {
  std::atomic<int> woken = 0;
  {
    std::vector<std::unique_ptr<RuntimeThread>> waiters;
    for (int i = 0; i < 16; ++i)
      waiters.push_back(runtime_->start_thread("waiter", [&woken, client = store_->new_client()] {
        client->get("go", 10s);
        ++woken;
      }));
    store_->set_text("go", "");
  }
  EXPECT_EQ(woken, 16);
}

}  // namespace
}  // namespace gang
