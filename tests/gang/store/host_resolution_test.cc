#include "gang/store/host_resolution.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/gang/store/store_matchers.h"

namespace gang {
namespace {

using std::chrono::steady_clock;
using std::chrono_literals::operator""s;

std::vector<std::string> resolve(const std::string& host, bool is_cancelled = false) {
  return addresses_of(host, steady_clock::now() + 30s, [is_cancelled] { return is_cancelled; });
}

TEST(HostResolution, AnAddressResolvesToItself) {
  EXPECT_EQ(resolve("127.0.0.1"), std::vector<std::string>{"127.0.0.1"});
  EXPECT_EQ(resolve("::1"), std::vector<std::string>{"::1"});
}

TEST(HostResolution, LocalhostIsThisHostIpv4First) {
  EXPECT_EQ(resolve("localhost").front(), "127.0.0.1");
}

TEST(HostResolution, ANameThatDoesNotExistIsAnError) {
  EXPECT_THAT([] { resolve("no such host"); },
              fails_with(StoreErrorKind::connection, "the name 'no such host' cannot be resolved"));
}

TEST(HostResolution, WaitsNoLongerThanItsDeadline) {
  EXPECT_THAT([] { resolve("localhost", true); },
              fails_with(StoreErrorKind::cancelled, "resolving 'localhost' was cancelled"));
  EXPECT_THAT([] { addresses_of("localhost", steady_clock::now() - 1s, [] { return false; }); },
              fails_with(StoreErrorKind::timeout, "the name 'localhost' was not resolved in time"));
}

}  // namespace
}  // namespace gang
