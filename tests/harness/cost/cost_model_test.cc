#include "harness/cost/cost_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

constexpr CostModel model{
    .ranks_per_node = 4, .intra_node = {1e-6, 1e9}, .inter_node = {10e-6, 1e8}};

TEST(CostModel, HasTheFactorsOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::all_reduce, 4), 1.5);
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::all_gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::reduce_scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::gather, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::scatter, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::broadcast, 4), 1);
  EXPECT_DOUBLE_EQ(bus_factor(OperationKind::send, 4), 1);
}

TEST(CostModel, CountsLatencies) {
  EXPECT_EQ(latency_count(OperationKind::all_reduce, 8), 14);
  EXPECT_EQ(latency_count(OperationKind::reduce_scatter, 8), 7);
  EXPECT_EQ(latency_count(OperationKind::broadcast, 8), 3);
  EXPECT_EQ(latency_count(OperationKind::broadcast, 9), 4);
  EXPECT_EQ(latency_count(OperationKind::barrier, 2), 2);
  EXPECT_EQ(latency_count(OperationKind::barrier, 8), 6);
  EXPECT_EQ(latency_count(OperationKind::batch, 16), 1);
  EXPECT_EQ(latency_count(OperationKind::split, 16), 0);
}

TEST(CostModel, AddsLatencyAndBandwidth) {
  EXPECT_DOUBLE_EQ(seconds_of({OperationKind::all_reduce, 4, Link::intra_node, 1000}, model),
                   6e-6 + 1.5e-6);
  EXPECT_DOUBLE_EQ(seconds_of({OperationKind::send, 8, Link::inter_node, 1000}, model),
                   10e-6 + 10e-6);
  EXPECT_DOUBLE_EQ(seconds_of({OperationKind::all_reduce, 1, Link::intra_node, 1000}, model), 0);
}

TEST(CostModel, KnowsNodes) {
  EXPECT_EQ(model.node_of(3), 0);
  EXPECT_EQ(model.node_of(4), 1);
}

TEST(LinkSpeed, IsLatencyAndBandwidth) {
  EXPECT_EQ(parse_link_speed("3us:300GB/s"), (LinkSpeed{3e-6, 300e9}));
  EXPECT_EQ(parse_link_speed("1.5ms:25MB/s"), (LinkSpeed{1.5e-3, 25e6}));
  EXPECT_EQ(parse_link_speed("0ns:1TB/s"), (LinkSpeed{0, 1e12}));
  for (const char* text : {"3us:300GB/s", "1.5ms:25MB/s", "20ns:2TB/s", "0ns:1KB/s"})
    EXPECT_EQ(to_string(parse_link_speed(text)), text);
}

TEST(LinkSpeed, RejectsOtherTexts) {
  for (const char* text : {"", "3us", ":", "3:300GB/s", "3us:300", "3us:0GB/s", "-1us:1GB/s",
                           "3us:300GB", "nan:1GB/s", "infus:1GB/s", "3us :1GB/s"}) {
    EXPECT_THAT([text] { parse_link_speed(text); },
                testing::ThrowsMessage<InvalidArgument>(
                    testing::HasSubstr("expected LATENCY:BANDWIDTH, as in 3us:300GB/s")))
        << text;
  }
}

TEST(CostModel, CountsTheLatenciesOfEveryKind) {
  for (const OperationKind kind :
       {OperationKind::all_gather, OperationKind::all_gather_to_list, OperationKind::all_to_all,
        OperationKind::gather, OperationKind::scatter, OperationKind::scan,
        OperationKind::exclusive_scan})
    EXPECT_EQ(latency_count(kind, 8), 7) << to_string(kind);
  EXPECT_EQ(latency_count(OperationKind::reduce, 8), 3);
  EXPECT_EQ(latency_count(OperationKind::broadcast_objects, 8), 3);
  EXPECT_EQ(latency_count(OperationKind::monitored_barrier, 8), 6);
  EXPECT_EQ(latency_count(OperationKind::send, 8), 1);
  EXPECT_EQ(latency_count(OperationKind::create_gang, 8), 0);
}

TEST(LinkSpeed, IsWrittenInTheLargestUnitThatFits) {
  EXPECT_EQ(to_string(LinkSpeed{1e-6, 1e9}), "1us:1GB/s");
  EXPECT_EQ(to_string(LinkSpeed{999e-9, 999e6}), "999ns:999MB/s");
  EXPECT_EQ(to_string(LinkSpeed{2, 500}), "2s:0.5KB/s");
}

TEST(LinkSpeed, KeepsItsDigits) {
  EXPECT_EQ(to_string(parse_link_speed("1.2345us:312.75GB/s")), "1.2345us:312.75GB/s");
}

TEST(CostModel, WhatStaysOnOneRankTakesNoTime) {
  for (const OperationKind kind :
       {OperationKind::broadcast, OperationKind::send, OperationKind::scan, OperationKind::barrier})
    EXPECT_EQ(seconds_of({kind, 1, Link::intra_node, 1000}, model), 0) << to_string(kind);
}

}  // namespace
}  // namespace gang::harness
