#include "sim/options/nccl_model.h"

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

TEST(NcclModel, RoundTripsThroughText) {
  const NcclModel model{4, LaunchOrder::any, PeerLinks::sockets, HostLaunch::blocking};
  EXPECT_EQ(to_string(model), "resident=4,order=any,links=sockets,launch=blocking");
  EXPECT_EQ(parse_nccl_model(to_string(model)), model);
  EXPECT_EQ(parse_nccl_model(to_string(NcclModel{})), NcclModel{});
  EXPECT_EQ(parse_nccl_model("links=sockets")->resident, 1);
  EXPECT_EQ(parse_nccl_model("launch=async"), NcclModel{});
}

TEST(NcclModel, WhatIsNoneIsNone) {
  for (const char* text :
       {"", "resident", "resident=0", "resident=x", "resident=2x", "order=", "order=all",
        "links=tcp", "launch=", "launch=sync", "resident=1,", ",resident=1", "sms=3"})
    EXPECT_FALSE(parse_nccl_model(text)) << text;
}

}  // namespace
}  // namespace gang::sim
