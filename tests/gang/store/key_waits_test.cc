#include "gang/store/key_waits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class Waits : public testing::Test {
 protected:
  void add(KeyWaits::Waiter waiter, const std::vector<std::string>& keys) {
    waits_.add(waiter, keys);
  }
  KeyWaits waits_;
};

TEST_F(Waits, AWaiterIsCompleteWithItsLastKey) {
  add(7, {"b", "a"});
  EXPECT_THAT(waits_.key_exists("a"), IsEmpty());
  EXPECT_THAT(waits_.missing_keys(7), ElementsAre("b"));
  EXPECT_THAT(waits_.key_exists("b"), ElementsAre(7U));
  EXPECT_FALSE(waits_.is_waiting(7));
  EXPECT_THAT(waits_.key_exists("b"), IsEmpty());
}

TEST_F(Waits, WaitersOfOneKeyCompleteInTheOrderInWhichTheyCame) {
  add(3, {"a"});
  add(1, {"a"});
  add(2, {"a", "b"});
  EXPECT_THAT(waits_.key_exists("a"), ElementsAre(3U, 1U));
  EXPECT_EQ(waits_.waiter_count(), 1U);
}

TEST_F(Waits, AKeyGivenTwiceCountsOnce) {
  add(1, {"a", "a"});
  EXPECT_THAT(waits_.key_exists("a"), ElementsAre(1U));
  add(2, {"b", "a", "a", "c", "b"});
  EXPECT_THAT(waits_.missing_keys(2), ElementsAre("a", "b", "c"));
  waits_.key_exists("a");
  waits_.key_exists("b");
  EXPECT_THAT(waits_.key_exists("c"), ElementsAre(2U));
}

TEST_F(Waits, AKeyThatComesTwiceDoesNotCountForAnother) {
  add(1, {"a", "b"});
  waits_.key_exists("a");
  EXPECT_THAT(waits_.key_exists("a"), IsEmpty());
  EXPECT_TRUE(waits_.is_waiting(1));
}

TEST_F(Waits, OthersAreNotTouched) {
  add(1, {"a"});
  EXPECT_THAT(waits_.key_exists("b"), IsEmpty());
  EXPECT_TRUE(waits_.is_waiting(1));
}

TEST_F(Waits, AWaiterThatLeftIsNotWoken) {
  add(1, {"a", "b"});
  add(2, {"a"});
  waits_.remove(1);
  waits_.remove(1);
  EXPECT_FALSE(waits_.is_waiting(1));
  EXPECT_THAT(waits_.missing_keys(1), IsEmpty());
  EXPECT_THAT(waits_.key_exists("a"), ElementsAre(2U));
  EXPECT_THAT(waits_.key_exists("b"), IsEmpty());
}

TEST_F(Waits, TheirSizeIsThatOfTheMissingKeys) {
  const std::vector<std::string> keys = {"a", "bbb"};
  add(1, keys);
  add(2, {"a"});
  EXPECT_EQ(waits_.size_bytes(),
            KeyWaits::size_bytes_of(keys) + KeyWaits::size_bytes_of(std::span(keys).first(1)));
  waits_.key_exists("a");
  EXPECT_EQ(waits_.size_bytes(), KeyWaits::size_bytes_of(std::span(keys).last(1)));
  waits_.remove(1);
  EXPECT_EQ(waits_.size_bytes(), 0U);
}

TEST_F(Waits, AWaiterThatLeftMayReturn) {
  add(1, {"a"});
  waits_.remove(1);
  add(1, {"b"});
  EXPECT_THAT(waits_.key_exists("a"), IsEmpty());
  EXPECT_THAT(waits_.key_exists("b"), ElementsAre(1U));
}

}  // namespace
}  // namespace gang
