// Matchers for the errors of stores.
#pragma once

#include <functional>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/store.h"

namespace gang {

// EXPECT_THAT([&] { store->get("a", 1ms); }, fails_with(StoreErrorKind::timeout, "'a'"));
inline testing::Matcher<std::function<void()>> fails_with(StoreErrorKind kind,
                                                          const std::string& part) {
  return testing::Throws<StoreError>(
      testing::AllOf(testing::Property("kind", &StoreError::kind, kind),
                     testing::Property("what", &StoreError::what, testing::HasSubstr(part))));
}

}  // namespace gang
