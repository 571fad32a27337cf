#include "gang/gang_cause.h"

#include <gtest/gtest.h>

#include "gang/store/store.h"

namespace gang {
namespace {

TEST(GangCause, SurvivesANote) {
  const GangCause cause{
      .kind = GangErrorKind::timeout, .ranks_at_fault = {1, 3}, .reason = "rank 1 waited"};
  EXPECT_EQ(parse_note(to_note(cause)), cause);
}

TEST(GangCause, WhatIsNoNoteIsNone) {
  for (const char* note : {"", "{", "[]", "{}", R"({"kind":"x","ranks":[],"reason":""})",
                           R"({"kind":"timeout","ranks":"x","reason":""})"})
    EXPECT_FALSE(parse_note(note)) << note;
}

TEST(GangCause, OfAStoreErrorIsWhatTheCallerCanTell) {
  const auto kind_of = [](StoreErrorKind kind) { return cause_of(StoreError(kind, "x")).kind; };
  EXPECT_EQ(kind_of(StoreErrorKind::timeout), GangErrorKind::timeout);
  EXPECT_EQ(kind_of(StoreErrorKind::corrupt), GangErrorKind::corrupt);
  EXPECT_EQ(kind_of(StoreErrorKind::dialect), GangErrorKind::corrupt);
  EXPECT_EQ(kind_of(StoreErrorKind::cancelled), GangErrorKind::connection);
  EXPECT_EQ(kind_of(StoreErrorKind::address_in_use), GangErrorKind::connection);
  EXPECT_EQ(cause_of(StoreError(StoreErrorKind::timeout, "key x did not appear")).reason,
            "key x did not appear");
}

}  // namespace
}  // namespace gang
