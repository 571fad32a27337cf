#include "gang/call_text.h"

#include <gtest/gtest.h>

#include "gang/collective.h"

namespace gang {
namespace {

using Direction = CallText::Direction;

Collective collective_of(OperationKind kind) {
  Collective collective;
  collective.kind = kind;
  collective.shape = Shape::vector(4);
  collective.count = 4;
  collective.sequence_number = 3;
  return collective;
}

TEST(CallText, OfAReductionHasItsNumberAndPayload) {
  const CallText call = describe(collective_of(OperationKind::all_reduce));
  EXPECT_EQ(call, (CallText{.kind = "all_reduce", .sequence = 3, .payload = "sum f32[4]"}));
  EXPECT_EQ(to_string(call), "all_reduce #3 sum f32[4]");
  EXPECT_EQ(arguments_text(call), "sum f32[4]");
}

TEST(CallText, OfAMessageHasItsPeerTagAndLabel) {
  Collective send = collective_of(OperationKind::send);
  send.peer = 1;
  send.tag = 7;
  send.label = "grads";
  const CallText call = describe(send);
  EXPECT_EQ(call, (CallText{.kind = "send",
                            .payload = "f32[4]",
                            .direction = Direction::to,
                            .peer = 1,
                            .qualifiers = "tag 7 \"grads\""}));
  EXPECT_EQ(to_string(call), "send f32[4] to rank 1 tag 7 \"grads\"");
  EXPECT_EQ(arguments_text(call), "f32[4] to rank 1 tag 7 \"grads\"");
}

TEST(CallText, OfAnAllToAllWithSplitsHasNoCount) {
  Collective exchange = collective_of(OperationKind::all_to_all);
  EXPECT_EQ(to_string(exchange), "all_to_all #3 f32[4]");
  exchange.shape = Shape::vector(0);
  exchange.count = 0;
  EXPECT_EQ(to_string(exchange), "all_to_all #3 f32");
}

TEST(CallText, PrintsAsTheCollectiveDoes) {
  for (const OperationKind kind : all_operation_kinds) {
    Collective collective = collective_of(kind);
    collective.peer = any_rank;
    collective.tag = any_tag;
    EXPECT_EQ(to_string(describe(collective)), to_string(collective));
  }
}

TEST(CallText, HasOnlyAKindIfItIsNotAnOperation) {
  EXPECT_EQ(to_string(CallText{.kind = "join of loader"}), "join of loader");
  EXPECT_EQ(to_string(CallText{}), "");
  EXPECT_TRUE(CallText{}.empty());
  EXPECT_FALSE(CallText{.kind = "sleep"}.empty());
}

TEST(CallText, WithAnyPeerSendsAndReceivesThatDifferInTheirPeerAreTheSame) {
  Collective one = collective_of(OperationKind::recv);
  one.peer = 3;
  one.tag = 4;
  Collective other = one;
  other.peer = 31;
  EXPECT_NE(describe(one), describe(other));
  EXPECT_EQ(with_any_peer(describe(one)), with_any_peer(describe(other)));
  EXPECT_EQ(to_string(with_any_peer(describe(one))), "recv f32[4] from one rank each tag 4");
}

TEST(CallText, WithAnyPeerEveryOtherCallIsAsItWas) {
  Collective any = collective_of(OperationKind::recv);
  any.peer = any_rank;
  Collective broadcast = collective_of(OperationKind::broadcast);
  broadcast.peer = 1;
  for (const Collective& call : {any, broadcast, collective_of(OperationKind::barrier)})
    EXPECT_EQ(with_any_peer(describe(call)), describe(call));
}

TEST(CallText, ALabelsControlCharactersAreEscaped) {
  const Collective call{.kind = OperationKind::barrier, .label = "a\x1b[31m\nb"};
  EXPECT_EQ(to_string(describe(call)), "barrier #0 \"a\\x1b[31m\\nb\"");
}

TEST(CallText, APayloadIsCountedInItsOwnThings) {
  Collective call = collective_of(OperationKind::create_gang);
  EXPECT_EQ(describe(call).payload, "of 4 ranks");
  call.count = 1;
  EXPECT_EQ(describe(call).payload, "of 1 rank");
  call.kind = OperationKind::batch;
  EXPECT_EQ(describe(call).payload, "of 1 operation");
  call.kind = OperationKind::broadcast_objects;
  EXPECT_EQ(describe(call).payload, "1 object");
}

TEST(CallText, WhatIsNotKnownOrNotThereIsNotShown) {
  Collective recorded = collective_of(OperationKind::all_reduce);
  recorded.reduce_operation = unknown_reduce_operation;
  EXPECT_EQ(to_string(describe(recorded)), "all_reduce #3 f32[4]");
  EXPECT_EQ(to_string(describe(collective_of(OperationKind::shrink))), "shrink");
  Collective send = collective_of(OperationKind::send);
  send.peer = 0;
  EXPECT_EQ(to_string(describe(send)), "send f32[4] to rank 0");
}

}  // namespace
}  // namespace gang
