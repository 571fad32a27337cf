#include "sim/backends/gloo/gloo_meeting.h"

#include <array>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/injection/fault_record.h"

namespace gang::sim {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A member's memory, and the notifications that it received.
struct Party final : GlooParty {
  explicit Party(std::string_view text) { std::memcpy(bytes.data(), text.data(), text.size()); }
  std::byte* data() const noexcept override { return bytes.data(); }
  void completed(Side side, int peer, const GlooParty&) override {
    (side == Side::send ? sent_to : got_from).push_back(peer);
  }
  void failed(Side, const std::string& reason) override { errors.push_back(reason); }
  std::string text() const { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

  mutable std::array<std::byte, 4> bytes{};
  std::vector<int> sent_to;
  std::vector<int> got_from;
  std::vector<std::string> errors;
};

constexpr std::array root_ranks = {4, 5, 6};

GlooTransfer whole(Party& party, std::uint64_t slot = 7) {
  return {.party = &party, .slot = slot, .bytes = 4};
}

TEST(GlooMeeting, MessagesMatchReceivesInEitherOrder) {
  for (const bool sends_first : {false, true}) {
    GlooMeeting meeting("root", root_ranks);
    Party sender("data");
    Party receiver("----");
    const auto send = [&] { EXPECT_EQ(meeting.send(0, 1, whole(sender)), nullptr); };
    if (sends_first) send();
    EXPECT_EQ(meeting.receive(1, 0, whole(receiver)), nullptr);
    if (!sends_first) send();
    EXPECT_EQ(receiver.text(), "data");
    EXPECT_THAT(sender.sent_to, ElementsAre(1));
    EXPECT_THAT(receiver.got_from, ElementsAre(0));
  }
}

TEST(GlooMeeting, SlotsSourcesAndDestinationsAreIndependent) {
  GlooMeeting meeting("root", root_ranks);
  Party sender("data");
  Party receiver("----");
  meeting.send(0, 1, whole(sender, 8));
  meeting.send(2, 1, whole(sender));
  meeting.send(0, 2, whole(sender));
  meeting.receive(1, 0, whole(receiver));
  EXPECT_THAT(receiver.got_from, IsEmpty());
  EXPECT_THAT(meeting.receives_pending(1, receiver), ElementsAre(0));
  EXPECT_THAT(meeting.sends_pending(0, sender), ElementsAre(1, 2));
}

TEST(GlooMeeting, MessagesMatchFirstInFirstOut) {
  GlooMeeting meeting("root", root_ranks);
  Party first("aaaa");
  Party second("bbbb");
  Party receiver("----");
  meeting.send(0, 1, whole(first));
  meeting.send(0, 1, whole(second));
  meeting.receive(1, 0, whole(receiver));
  EXPECT_EQ(receiver.text(), "aaaa");
  meeting.receive(1, 0, whole(receiver));
  EXPECT_EQ(receiver.text(), "bbbb");
}

TEST(GlooMeeting, ShorterMessageCompletesAndLongerOneFailsBothSides) {
  GlooMeeting meeting("root", root_ranks);
  Party sender("data");
  Party receiver("----");
  meeting.receive(1, 0, whole(receiver));
  meeting.send(0, 1, {.party = &sender, .slot = 7, .offset = 1, .bytes = 2});
  EXPECT_EQ(receiver.text(), "at--");
  meeting.receive(1, 0, {.party = &receiver, .slot = 7, .bytes = 2});
  meeting.send(0, 1, whole(sender));
  EXPECT_EQ(receiver.text(), "at--");
  ASSERT_EQ(receiver.errors.size(), 1U);
  EXPECT_THAT(receiver.errors[0], HasSubstr("4 bytes matched a receive of 2 bytes"));
  EXPECT_EQ(sender.errors, receiver.errors);
}

TEST(GlooMeeting, ReceiveFromSeveralMatchesAnySource) {
  GlooMeeting meeting("root", root_ranks);
  Party sender("data");
  Party receiver("----");
  meeting.receive_from_any(1, whole(receiver), {false, false, true});
  EXPECT_THAT(meeting.open_receive_pending(1, receiver), ElementsAre(2));
  meeting.send(0, 1, whole(sender));
  EXPECT_THAT(receiver.got_from, IsEmpty()) << "0 is not among its sources";
  meeting.send(2, 1, whole(sender));
  EXPECT_THAT(receiver.got_from, ElementsAre(2));
  meeting.receive_from_any(1, whole(receiver), {true, false, true});
  EXPECT_THAT(receiver.got_from, ElementsAre(2, 0)) << "earlier messages match first";
}

TEST(GlooMeeting, ClosingAConnectionFailsPendingTransfersOnBothSides) {
  GlooMeeting meeting("root", root_ranks);
  Party zero("zero");
  Party one("one!");
  Party two("two!");
  meeting.send(0, 1, whole(zero));
  meeting.receive(0, 1, whole(zero, 9));
  meeting.send(1, 0, whole(one));
  meeting.receive(1, 2, whole(two));
  meeting.close(0, 1, "closed here");
  EXPECT_THAT(zero.errors, ElementsAre("closed here", "closed here"));
  EXPECT_THAT(one.errors, ElementsAre("Connection closed by peer"));
  EXPECT_THAT(two.errors, IsEmpty()) << "on another connection";
  EXPECT_EQ(*meeting.send(0, 1, whole(zero)), "closed here");
  EXPECT_EQ(*meeting.receive(1, 0, whole(one)), "Connection closed by peer");
  EXPECT_EQ(meeting.send(0, 2, whole(zero)), nullptr);
}

TEST(GlooMeeting, CancelledTransfersAreDropped) {
  GlooMeeting meeting("root", root_ranks);
  Party zero("zero");
  Party one("one!");
  meeting.send(0, 1, whole(zero));
  meeting.receive(0, 2, whole(zero));
  meeting.receive_from_any(0, whole(zero, 8), {false, true, true});
  meeting.cancel(0, zero);
  EXPECT_THAT(meeting.sends_pending(0, zero), IsEmpty());
  EXPECT_THAT(meeting.receives_pending(0, zero), IsEmpty());
  EXPECT_THAT(meeting.open_receive_pending(0, zero), IsEmpty());
  meeting.receive(1, 0, whole(one));
  EXPECT_THAT(one.got_from, IsEmpty());
}

TEST(GlooMeeting, KnowsItsMembersInTheRootGang) {
  const GlooMeeting meeting("root", root_ranks);
  EXPECT_EQ(meeting.size(), 3);
  EXPECT_EQ(meeting.root_rank_of(2), 6);
}

// Applies the fate that a test chooses to each message.
struct ScriptedFates final : MessageFates {
  LinkFate fate_of(const Crossing& crossing) override {
    asked.emplace_back(crossing.from, crossing.to);
    return next;
  }
  void corrupt(std::span<std::byte> payload, const ArmedFault&) override {
    payload[0] = std::byte{'X'};
  }
  bool is_silent(int rank) const override { return rank == silent; }

  LinkFate next;
  int silent = -1;
  std::vector<std::pair<int, int>> asked;
};

TEST(GlooMeeting, HeldMessageDelaysLaterOnes) {
  ScriptedFates fates;
  GlooMeeting meeting("root", root_ranks, &fates);
  Party first("one_");
  Party second("two_");
  Party receiver("----");
  Party other("----");
  fates.next = {.kind = LinkFate::Kind::is_held, .until = TimePoint{100}};
  meeting.send(0, 1, whole(first, 7));
  fates.next = {};
  meeting.send(0, 1, whole(second, 8));
  meeting.receive(1, 0, whole(receiver, 7));
  meeting.receive(1, 0, whole(other, 8));
  meeting.release(TimePoint{99});
  EXPECT_EQ(other.text(), "----");
  EXPECT_THAT(meeting.sends_pending(0, second), ElementsAre(1));
  meeting.release(TimePoint{100});
  EXPECT_EQ(receiver.text(), "one_");
  EXPECT_EQ(other.text(), "two_");
  EXPECT_EQ(fates.asked.front(), (std::pair{4, 5}));
}

TEST(GlooMeeting, LostMessageStallsItsConnectionForever) {
  ScriptedFates fates;
  GlooMeeting meeting("root", root_ranks, &fates);
  Party lost("lost");
  Party later("data");
  Party receiver("----");
  fates.next = {.kind = LinkFate::Kind::is_lost};
  meeting.send(0, 1, whole(lost));
  fates.next = {};
  meeting.send(0, 1, whole(later));
  meeting.receive(1, 0, whole(receiver));
  meeting.release(TimePoint::max() - Duration(1));
  EXPECT_EQ(receiver.text(), "----");
  meeting.close(1, 0, "timed out");
  EXPECT_THAT(lost.errors, ElementsAre("Connection closed by peer"));
  EXPECT_THAT(later.errors, ElementsAre("Connection closed by peer"));
  EXPECT_THAT(receiver.errors, ElementsAre("timed out"));
}

TEST(GlooMeeting, HeldMessageIsDroppedWithItsMemory) {
  ScriptedFates fates;
  GlooMeeting meeting("root", root_ranks, &fates);
  Party held("data");
  Party receiver("----");
  fates.next = {.kind = LinkFate::Kind::is_held, .until = TimePoint{1}};
  meeting.send(0, 1, whole(held));
  meeting.cancel(0, held);
  meeting.receive(1, 0, whole(receiver));
  meeting.release(TimePoint{1});
  EXPECT_EQ(receiver.text(), "----");
}

TEST(GlooMeeting, MessagesMayBeCorruptedInTransit) {
  ScriptedFates fates;
  const ArmedFault fault;
  GlooMeeting meeting("root", root_ranks, &fates);
  Party sender("data");
  Party receiver("----");
  fates.next = {.fault = &const_cast<ArmedFault&>(fault)};
  meeting.send(0, 1, whole(sender));
  meeting.receive(1, 0, whole(receiver));
  EXPECT_EQ(receiver.text(), "Xata");
  EXPECT_EQ(sender.text(), "data");
}

TEST(GlooMeeting, SilentProcessNeverSendsItsUnsentMessages) {
  ScriptedFates fates;
  GlooMeeting meeting("root", root_ranks, &fates);
  Party sender("data");
  Party receiver("----");
  Party any("----");
  meeting.send(0, 1, whole(sender));
  fates.silent = 4;
  meeting.receive(1, 0, whole(receiver));
  meeting.receive_from_any(1, whole(any), {true, false, true});
  EXPECT_EQ(receiver.text(), "----");
  EXPECT_EQ(any.text(), "----");
  meeting.member_gone(0);
  EXPECT_THAT(receiver.errors, ElementsAre("Connection closed by peer"));
}

}  // namespace
}  // namespace gang::sim
