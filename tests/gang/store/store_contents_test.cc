#include "gang/store/store_contents.h"

#include <limits>

#include <gtest/gtest.h>

#include "gang/store/store.h"

namespace gang {
namespace {

class Contents : public testing::Test {
 protected:
  std::string text(std::string_view key) const { return as_store_text(*contents_.find(key)); }
  void set(std::string_view key, std::string_view value) {
    contents_.set(key, as_store_bytes(value));
  }
  std::string compare_set(std::string_view key, std::string_view expected,
                          std::string_view desired) {
    return as_store_text(
        contents_.compare_set(key, as_store_bytes(expected), as_store_bytes(desired)));
  }

  StoreContents contents_;
};

TEST_F(Contents, SetReplaces) {
  set("a", "one");
  set("a", "2");
  EXPECT_EQ(text("a"), "2");
  EXPECT_EQ(contents_.key_count(), 1);
}

TEST_F(Contents, AppendBeginsWithNothing) {
  contents_.append("a", as_store_bytes("x"));
  contents_.append("a", as_store_bytes("yz"));
  EXPECT_EQ(text("a"), "xyz");
}

TEST_F(Contents, AddKeepsDecimalText) {
  EXPECT_EQ(contents_.add("n", 5), 5);
  EXPECT_EQ(contents_.add("n", -12), -7);
  EXPECT_EQ(text("n"), "-7");
}

TEST_F(Contents, AddWrapsAround) {
  contents_.add("n", std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(contents_.add("n", 1), std::numeric_limits<std::int64_t>::min());
}

TEST_F(Contents, AddRefusesAValueThatIsNotANumberAndKeepsIt) {
  for (const char* value : {"", "x", "1x", " 1", "1 ", "9223372036854775808", "0x1"}) {
    set("a", value);
    EXPECT_FALSE(contents_.add("a", 1)) << value;
    EXPECT_EQ(text("a"), value);
  }
}

TEST_F(Contents, CompareSetOfAMissingKeyStoresIfNothingIsExpected) {
  EXPECT_EQ(compare_set("a", "", "new"), "new");
  EXPECT_EQ(text("a"), "new");
}

TEST_F(Contents, CompareSetOfAMissingKeyReturnsAnyOtherExpectation) {
  EXPECT_EQ(compare_set("a", "old", "new"), "old");
  EXPECT_FALSE(contents_.has("a"));
}

TEST_F(Contents, CompareSetStoresIfTheValueIsAsExpected) {
  set("a", "old");
  EXPECT_EQ(compare_set("a", "old", "new"), "new");
  EXPECT_EQ(text("a"), "new");
}

TEST_F(Contents, CompareSetReturnsAnUnexpectedValue) {
  set("a", "other");
  EXPECT_EQ(compare_set("a", "old", "new"), "other");
  EXPECT_EQ(compare_set("a", "", "new"), "other");
  EXPECT_EQ(text("a"), "other");
}

TEST_F(Contents, AnEmptyValueIsAValue) {
  set("a", "");
  EXPECT_TRUE(contents_.has("a"));
  EXPECT_EQ(compare_set("a", "", "new"), "new");
}

TEST_F(Contents, EraseTellsWhetherThereWasAValue) {
  set("a", "1");
  EXPECT_TRUE(contents_.erase("a"));
  EXPECT_FALSE(contents_.erase("a"));
  EXPECT_EQ(contents_.find("a"), nullptr);
}

TEST_F(Contents, EveryMissingKeyIsListed) {
  set("b", "1");
  const std::vector<std::string> keys = {"a", "b", "c"};
  EXPECT_EQ(contents_.missing_of(keys), (std::vector<std::string>{"a", "c"}));
}

TEST_F(Contents, BytesOfKeysAndValuesAreCounted) {
  set("ab", "12345");
  EXPECT_EQ(contents_.size_bytes(), 7U);
  set("ab", "1");
  contents_.append("ab", as_store_bytes("23"));
  contents_.add("n", 10);
  EXPECT_EQ(contents_.size_bytes(), 5U + 3U);
  contents_.erase("ab");
  contents_.erase("n");
  EXPECT_EQ(contents_.size_bytes(), 0U);
}

}  // namespace
}  // namespace gang
