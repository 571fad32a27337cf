#include "gang/call_site.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang {
namespace {

CallSite place_of_caller(CallSite call_site = CallSite::here()) { return call_site; }

TEST(CallSite, DefaultArgumentNamesThePlaceOfTheCall) {
  const CallSite first = place_of_caller();
  const CallSite second = place_of_caller();
  EXPECT_EQ(first.line + 1, second.line);
  EXPECT_THAT(first.file, testing::EndsWith("call_site_test.cc"));
  EXPECT_THAT(first.function, testing::HasSubstr("TestBody"));
}

TEST(CallSite, TextIsTheLastComponentOfTheFileAndTheLine) {
  EXPECT_EQ(to_string(CallSite::at("programs/train.cc", 41)), "train.cc:41");
  EXPECT_EQ(to_string(CallSite::at("/a/b/deadlock.toml", 7)), "deadlock.toml:7");
  EXPECT_EQ(to_string(CallSite::at("train.cc", 1)), "train.cc:1");
}

TEST(CallSite, WithoutFileIsUnknown) {
  EXPECT_EQ(to_string(CallSite{}), "unknown");
  EXPECT_EQ(to_string(CallSite::at(nullptr, 3)), "unknown");
}

TEST(CallSite, IsAValue) {
  const CallSite site = CallSite::at("a.cc", 1);
  EXPECT_EQ(site, CallSite(site));
  EXPECT_NE(site, CallSite::at(site.file, 2));
  EXPECT_NE(site, CallSite::at("b.cc", 1));
  EXPECT_EQ(CallSite{}, CallSite::at(nullptr, 0));
}

TEST(CallSite, EqualTextsAreEqualWhereverTheyAreStored) {
  const std::string here = "a.cc";
  const std::string there = "a.cc";
  EXPECT_EQ(CallSite::at(here.c_str(), 1), CallSite::at(there.c_str(), 1));
}

}  // namespace
}  // namespace gang
