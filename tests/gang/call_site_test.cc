#include "gang/call_site.h"

#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang {
namespace {

CallSite place_of_caller(CallSite call_site = CallSite::here()) { return call_site; }

TEST(CallSite, DefaultArgumentNamesThePlaceOfTheCall) {
  const CallSite first = place_of_caller();
  const CallSite second = place_of_caller();
  EXPECT_EQ(first.line() + 1, second.line());
  EXPECT_THAT(first.file(), testing::EndsWith("call_site_test.cc"));
  EXPECT_THAT(first.function(), testing::HasSubstr("TestBody"));
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
  EXPECT_NE(site, CallSite::at(site.file(), 2));
  EXPECT_NE(site, CallSite::at("b.cc", 1));
  EXPECT_EQ(CallSite{}, CallSite::at(nullptr, 0));
}

TEST(CallSite, EqualTextsAreEqualWhereverTheyAreStored) {
  const std::string here = "a.cc";
  const std::string there = "a.cc";
  EXPECT_EQ(CallSite::at(here.c_str(), 1), CallSite::at(there.c_str(), 1));
}

TEST(CallSite, InAFunctionHasTheTextBehindItsFile) {
  constexpr CallSite site = CallSite::in_function("a.cc\0void step()", 3);
  EXPECT_STREQ(site.file(), "a.cc");
  EXPECT_STREQ(site.function(), "void step()");
  EXPECT_STREQ(CallSite::at("a.cc", 3).function(), "");
  EXPECT_NE(site, CallSite::at("a.cc", 3));
  EXPECT_EQ(site, CallSite::in_function(std::string("a.cc\0void step()", 16).c_str(), 3));
}

TEST(CallSite, IsTheSameObjectWhereOneCallMadeBoth) {
  std::vector<CallSite> sites;
  for (int i = 0; i < 2; ++i) sites.push_back(place_of_caller());
  EXPECT_TRUE(is_same_object(sites[0], sites[1]));
  EXPECT_FALSE(is_same_object(sites[0], place_of_caller()));
  EXPECT_FALSE(is_same_object(CallSite::at("a.cc", 1), CallSite::at("a.cc", 2)));
  const std::string copy = "a.cc";
  EXPECT_FALSE(is_same_object(CallSite::at("a.cc", 1), CallSite::at(copy.c_str(), 1)));
}

TEST(SourceLocation, OwnsTheTextsOfACallSite) {
  std::string texts("/a/src/train.cc\0void step()", 27);
  const SourceLocation location = location_of(CallSite::in_function(texts.c_str(), 41));
  texts.assign(texts.size(), 'x');
  EXPECT_EQ(location, (SourceLocation{"/a/src/train.cc", 41, "void step()"}));
  EXPECT_EQ(to_string(location), "train.cc:41");
  EXPECT_EQ(location_of(CallSite::at("train.cc", 3)), (SourceLocation{"train.cc", 3}));
}

TEST(SourceLocation, HasTheTextOfItsCallSite) {
  for (const CallSite& site :
       {CallSite::at("a/b.cc", 7), CallSite::at("step", 0), CallSite{}, CallSite::at(nullptr, 3)})
    EXPECT_EQ(to_string(location_of(site)), to_string(site));
  EXPECT_EQ(to_string(SourceLocation{}), "");
}

TEST(SourceLocation, IsEmptyWithoutAFileAndAFunction) {
  EXPECT_TRUE(SourceLocation{}.empty());
  EXPECT_FALSE(location_of(CallSite{}).empty());
  EXPECT_FALSE((SourceLocation{.function = "main"}).empty());
}

TEST(SourceLocation, IsReadFromItsText) {
  EXPECT_EQ(parse_source_location("train.cc:41"), (SourceLocation{"train.cc", 41}));
  EXPECT_EQ(parse_source_location("C:/x/train.cc:7"), (SourceLocation{"C:/x/train.cc", 7}));
  EXPECT_EQ(parse_source_location("step:0"), (SourceLocation{"step", 0}));
  for (const char* text : {"", "unknown", ":3", "train.cc:", "train.cc:x", "train.cc:4x"})
    EXPECT_EQ(parse_source_location(text), SourceLocation{.file = text}) << text;
}

TEST(SourceLocation, IsTheSameLineWhateverTheFunction) {
  const SourceLocation location{"a.cc", 1, "void f<int>()"};
  EXPECT_TRUE(is_same_line(location, {"a.cc", 1, "void f<float>()"}));
  EXPECT_FALSE(is_same_line(location, {"b/a.cc", 1}));
  EXPECT_FALSE(is_same_line(location, {"a.cc", 2}));
}

}  // namespace
}  // namespace gang
