#include "gang/store/store_failure.h"

#include <gtest/gtest.h>

#include "gang/store/memory_store.h"
#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;

class StoreFailures : public testing::Test {
 protected:
  std::unique_ptr<Runtime> runtime_ = make_real_runtime();
  std::shared_ptr<Store> store_ = make_memory_store(*runtime_);
};

TEST_F(StoreFailures, ATimeoutNamesTheFirstThreeKeys) {
  const std::vector<std::string> keys = {"a", "b", "c", "d", "e"};
  EXPECT_THAT([&] { throw_wait_timeout(*store_, "wait", keys, 5s); },
              fails_with(StoreErrorKind::timeout,
                         "wait of 'a', 'b', 'c' and 2 more at memory timed out after 5 s: no "
                         "client has set them"));
}

TEST_F(StoreFailures, ATimeoutOfOneKeySaysIt) {
  const std::vector<std::string> keys = {"a"};
  EXPECT_THAT([&] { throw_wait_timeout(*store_, "get", keys, 5s); },
              fails_with(StoreErrorKind::timeout,
                         "get of 'a' at memory timed out after 5 s: no client has set it"));
}

TEST_F(StoreFailures, ACancellationNamesTheOperation) {
  EXPECT_THAT([&] { throw_cancelled(*store_, "set", "a"); },
              fails_with(StoreErrorKind::cancelled, "set of 'a' at memory was cancelled"));
  EXPECT_THAT([&] { throw_cancelled(*store_, "num_keys", ""); },
              fails_with(StoreErrorKind::cancelled, "num_keys at memory was cancelled"));
}

TEST_F(StoreFailures, AValueThatIsNotANumberIsReported) {
  EXPECT_THAT([&] { throw_not_a_number(*store_, "a"); },
              fails_with(StoreErrorKind::not_a_number, "add of 'a' at memory found a value"));
}

TEST_F(StoreFailures, KeysAreShownOnOneReadableLine) {
  EXPECT_EQ(operation_on(*store_, "get", "a\nb\x7f"), "get of 'a\\x0ab\\x7f' at memory");
  EXPECT_EQ(operation_on(*store_, "get", std::string(100, 'k')),
            "get of '" + std::string(80, 'k') + "...' at memory");
}

}  // namespace
}  // namespace gang
