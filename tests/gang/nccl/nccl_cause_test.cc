#include "gang/nccl/nccl_cause.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(NcclCause, SurvivesANote) {
  const NcclCause cause{GangErrorKind::timeout, {1, 3}, "rank 1 waited"};
  EXPECT_EQ(parse_nccl_note(to_note(cause)), cause);
}

TEST(NcclCause, WhatIsNoNoteIsNone) {
  for (const char* note : {"", "{", "[]", "{}", R"({"kind":"x","ranks":[],"reason":""})",
                           R"({"kind":"timeout","ranks":"x","reason":""})"})
    EXPECT_FALSE(parse_nccl_note(note)) << note;
}

}  // namespace
}  // namespace gang
