#include "gang/store/prefix_store.h"

#include <gtest/gtest.h>

#include "gang/store/memory_store.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

class PrefixStores : public testing::Test {
 protected:
  std::unique_ptr<Runtime> runtime_ = make_real_runtime();
  std::shared_ptr<Store> whole_ = make_memory_store(*runtime_);
  std::shared_ptr<Store> part_ = make_prefix_store("part", whole_);
};

TEST_F(PrefixStores, EveryOperationAddsThePrefix) {
  part_->set_text("set", "1");
  part_->append_text("append", "2");
  EXPECT_EQ(part_->add("add", 3), 3);
  EXPECT_EQ(part_->compare_set_text("compare", "", "4"), "4");
  EXPECT_EQ(whole_->get_text("part/set", 1s), "1");
  EXPECT_EQ(whole_->get_text("part/append", 1s), "2");
  EXPECT_EQ(whole_->get_text("part/add", 1s), "3");
  EXPECT_EQ(whole_->get_text("part/compare", 1s), "4");
  EXPECT_EQ(whole_->num_keys(), 4);
}

TEST_F(PrefixStores, EveryQueryIsAboutThePart) {
  whole_->set_text("part/a", "1");
  whole_->set_text("b", "2");
  const std::vector<std::string> in_part = {"a"};
  const std::vector<std::string> not_in_part = {"a", "b"};
  EXPECT_EQ(part_->get_text("a", 1s), "1");
  EXPECT_EQ(part_->try_get_text("a"), "1");
  EXPECT_EQ(part_->try_get("b"), std::nullopt);
  part_->wait(in_part, 1s);
  EXPECT_TRUE(part_->check(in_part));
  EXPECT_FALSE(part_->check(not_in_part));
  EXPECT_FALSE(part_->delete_key("b"));
  EXPECT_TRUE(part_->delete_key("a"));
}

TEST_F(PrefixStores, KeysOfTheWholeMapAreCounted) {
  whole_->set_text("elsewhere", "");
  part_->set_text("a", "");
  EXPECT_EQ(part_->num_keys(), 2);
}

TEST_F(PrefixStores, PrefixesNest) {
  make_prefix_store("inner", part_)->set_text("a", "1");
  EXPECT_EQ(whole_->get_text("part/inner/a", 1s), "1");
}

TEST_F(PrefixStores, APrefixThatEndsInASlashGivesTwo) {
  make_prefix_store("p/", whole_)->set_text("a", "1");
  EXPECT_EQ(whole_->get_text("p//a", 1s), "1");
}

TEST_F(PrefixStores, ErrorsNameTheWholeKey) {
  EXPECT_THAT([&] { part_->get("a", 1ms); },
              fails_with(StoreErrorKind::timeout, "get of 'part/a' at memory"));
  const std::vector<std::string> keys = {"a"};
  EXPECT_THAT([&] { part_->wait(keys, 1ms); },
              fails_with(StoreErrorKind::timeout, "wait of 'part/a' at memory"));
}

TEST_F(PrefixStores, AKeyMustFitWithItsPrefix) {
  EXPECT_THROW(part_->set_text(std::string(max_store_key_bytes, 'k'), ""), InvalidArgument);
  part_->set_text(std::string(max_store_key_bytes - 5, 'k'), "");
}

TEST_F(PrefixStores, CancellingAPartCancelsItsStore) {
  part_->cancel();
  EXPECT_THAT([&] { whole_->num_keys(); }, fails_with(StoreErrorKind::cancelled, "num_keys"));
}

TEST_F(PrefixStores, ANewClientIsCancelledAlone) {
  const std::shared_ptr<Store> other = part_->new_client();
  other->cancel();
  part_->set_text("a", "1");
  EXPECT_EQ(whole_->get_text("part/a", 1s), "1");
  EXPECT_THAT([&] { other->num_keys(); }, fails_with(StoreErrorKind::cancelled, "num_keys"));
}

TEST_F(PrefixStores, ANewClientHasThePrefixToo) {
  part_->new_client()->set_text("a", "1");
  EXPECT_EQ(whole_->get_text("part/a", 1s), "1");
}

TEST_F(PrefixStores, AStoreAndAPrefixAreNeeded) {
  EXPECT_THROW(make_prefix_store("p", nullptr), InvalidArgument);
  EXPECT_THROW(make_prefix_store("", whole_), InvalidArgument);
}

}  // namespace
}  // namespace gang
