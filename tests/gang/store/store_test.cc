#include "gang/store/store.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/memory_store.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;
using testing::AllOf;
using testing::HasSubstr;

class StoreChecks : public testing::Test {
 protected:
  std::unique_ptr<Runtime> runtime_ = make_real_runtime();
  std::shared_ptr<Store> store_ = make_memory_store(*runtime_);
};

TEST_F(StoreChecks, AnEmptyKeyIsRefusedByEveryOperation) {
  const std::vector<std::string> keys = {"a", ""};
  EXPECT_THROW(store_->set_text("", "1"), InvalidArgument);
  EXPECT_THROW(store_->get("", 1s), InvalidArgument);
  EXPECT_THROW(store_->try_get(""), InvalidArgument);
  EXPECT_THROW(store_->add("", 1), InvalidArgument);
  EXPECT_THROW(store_->compare_set_text("", "", "1"), InvalidArgument);
  EXPECT_THROW(store_->append_text("", "1"), InvalidArgument);
  EXPECT_THROW(store_->check(keys), InvalidArgument);
  EXPECT_THROW(store_->wait(keys, 1s), InvalidArgument);
  EXPECT_THROW(store_->delete_key(""), InvalidArgument);
  EXPECT_EQ(store_->num_keys(), 0);
}

TEST_F(StoreChecks, TheLongestKeyIsAcceptedAndOneByteMoreIsNot) {
  const std::string longest(max_store_key_bytes, 'k');
  store_->set_text(longest, "1");
  EXPECT_EQ(store_->try_get_text(longest), "1");
  EXPECT_THAT([&] { store_->set_text(longest + "k", "1"); },
              testing::ThrowsMessage<InvalidArgument>(AllOf(
                  HasSubstr("set: the key 'kkkk"), HasSubstr("8001 bytes; must have 1 to 8000"))));
}

TEST_F(StoreChecks, TheLongestValueIsAcceptedAndOneByteMoreIsNot) {
  const std::vector<std::byte> too_long(max_store_value_bytes + 1);
  const std::span longest = std::span(too_long).first(max_store_value_bytes);
  store_->set("a", longest);
  EXPECT_EQ(store_->get("a", 1s).size(), max_store_value_bytes);
  EXPECT_THAT([&] { store_->set("b", too_long); },
              testing::ThrowsMessage<InvalidArgument>(HasSubstr("the value for 'b' has 8388609")));
  EXPECT_THROW(store_->append("b", too_long), InvalidArgument);
  EXPECT_THROW(store_->compare_set("b", {}, too_long), InvalidArgument);
  EXPECT_FALSE(store_->try_get("b"));
}

TEST_F(StoreChecks, TooManyKeysAtOnceAreRefused) {
  std::vector<std::string> keys(max_store_keys_per_call, "a");
  EXPECT_FALSE(store_->check(keys)) << "as many as there may be";
  keys.emplace_back("a");
  EXPECT_THROW(store_->check(keys), InvalidArgument);
  EXPECT_THROW(store_->wait(keys, 1s), InvalidArgument);
}

TEST_F(StoreChecks, ATimeoutOfZeroIsRefusedEvenWithoutAWait) {
  EXPECT_THROW(store_->wait({}, Duration::zero()), InvalidArgument);
  EXPECT_THROW(store_->get("a", -1s), InvalidArgument);
  store_->wait({}, 1s);
}

TEST_F(StoreChecks, NoKeysAreAllThere) { EXPECT_TRUE(store_->check({})); }

TEST(StoreErrors, KindsHaveDistinctNames) {
  std::set<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(StoreErrorKind::corrupt); ++kind)
    names.insert(to_string(static_cast<StoreErrorKind>(kind)));
  EXPECT_EQ(names.size(), 7U);
  EXPECT_FALSE(names.contains(""));
}

TEST(StoreErrors, AreErrors) {
  const StoreError error(StoreErrorKind::dialect, "a sentence");
  EXPECT_EQ(error.kind(), StoreErrorKind::dialect);
  EXPECT_STREQ(static_cast<const Error&>(error).what(), "a sentence");
}

TEST(StoreText, IsKeptWithEveryByte) {
  const std::string text("a\0\xff", 3);
  EXPECT_EQ(as_store_text(as_store_bytes(text)), text);
  EXPECT_EQ(as_store_text({}), "");
}

}  // namespace
}  // namespace gang
