#include "gang/gloo/gloo_member.h"

#include <vector>

#include <gloo/common/error.h>
#include <gloo/transport/unbound_buffer.h>

#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""s;

// A connector that connects no members and keeps one note.
class NoteKeeper final : public GlooConnector {
 public:
  std::shared_ptr<gloo::transport::Context> connect(const GlooMembership&, Duration) override {
    throw NotSupported("connects nobody");
  }
  void close(gloo::transport::Context&) noexcept override {}
  void leave_note(const std::string&, std::string_view text) noexcept override { note = text; }
  std::optional<std::string> find_note(const std::string&) noexcept override { return note; }

  std::optional<std::string> note;
};

class GlooMemberTest : public testing::Test {
 protected:
  GlooMemberTest() {
    auto info = std::make_shared<GangInfo>();
    info->name = "dp";
    info->root_ranks = {4, 6};
    info->size = 2;
    const GlooWorld world{
        std::make_shared<CompletionBoard>(std::shared_ptr<Runtime>(make_real_runtime())), notes};
    member = std::make_unique<GlooMember>(info, 1, "dp", world, nullptr);
  }

  test::RankError fail_with(const std::string& error, int peer) {
    return test::error_of(
        [&] { member->exchange(call(), peer, [&] { throw gloo::IoException(error); }); });
  }

  GlooCall call(Duration timeout = std::chrono::seconds(100)) {
    const TimePoint now = member->runtime().now();
    return {collective, now, now + timeout};
  }

  Collective collective{
      .kind = OperationKind::all_reduce, .count = 8, .sequence_number = 3, .shape = Shape{8}};
  std::shared_ptr<NoteKeeper> notes = std::make_shared<NoteKeeper>();
  std::unique_ptr<GlooMember> member;
};

TEST_F(GlooMemberTest, ALostConnectionIsAFailedPeer) {
  const auto error = fail_with("[pair.cc:1] Connection closed by peer", 0);
  EXPECT_EQ(error.kind, "peer_failed");
  EXPECT_EQ(error.ranks_at_fault, std::vector<int>{0});
  EXPECT_EQ(error.text,
            "rank 1 of dp[4,6] failed in all_reduce #3 sum f32[8] (peer_failed): rank 0 is gone or "
            "has closed the gang (Connection closed by peer)");
}

TEST_F(GlooMemberTest, PastTheDeadlineItIsATimeout) {
  const auto error = test::error_of([&] {
    member->exchange(call(Duration(0)), 0, [] { throw gloo::IoException("Timed out"); });
  });
  EXPECT_EQ(error.kind, "timeout");
  EXPECT_NE(error.text.find("rank 1 waited for rank 0 in all_reduce #3"), std::string::npos)
      << error.text;
}

TEST_F(GlooMemberTest, ANoteOfAnotherMemberSaysWhy) {
  notes->note = R"({"kind":"aborted","ranks":[5],"reason":"rank 5 aborted the gang"})";
  const auto error = fail_with("Connection closed by peer", 0);
  EXPECT_EQ(error.kind, "aborted");
  EXPECT_EQ(error.ranks_at_fault, std::vector<int>{5});
}

TEST_F(GlooMemberTest, ATextThatIsNotANoteIsIgnored) {
  for (const char* note : {"", "{}", "[1]", R"({"kind":"odd","ranks":[],"reason":""})",
                           R"({"kind":"timeout","ranks":"x","reason":3})"}) {
    notes->note = note;
    EXPECT_EQ(fail_with("Connection closed by peer", 0).kind, "peer_failed") << note;
  }
}

TEST_F(GlooMemberTest, TheFirstCauseStays) {
  member->require_intact(call());
  member->break_with({.kind = GangErrorKind::mismatch, .reason = "first"});
  member->break_with({.kind = GangErrorKind::timeout, .reason = "second"});
  EXPECT_TRUE(member->is_broken());
  const auto error = fail_with("Connection closed by peer", 0);
  EXPECT_EQ(error.kind, "mismatch");
  EXPECT_NE(error.text.find("first"), std::string::npos);
  EXPECT_THROW(member->require_intact(call()), GangError);
}

TEST_F(GlooMemberTest, OurOwnErrorsPassUnchanged) {
  EXPECT_THROW(member->exchange(call(), 0, [] { throw NotSupported("this"); }), NotSupported);
  EXPECT_FALSE(member->is_broken());
}

TEST_F(GlooMemberTest, AnErrorSaysHowLongTheCallHasLasted) {
  const TimePoint now = member->runtime().now();
  const GlooCall late{collective, now - 5s, now - 1s};
  const auto error =
      test::error_of([&] { member->exchange(late, 0, [] { throw gloo::IoException("late"); }); });
  EXPECT_GE(error.elapsed, 5s);
  EXPECT_LT(error.elapsed, 100s);
}

// Counts how often a wait for it is aborted.
class AbortedReceive final : public gloo::transport::UnboundBuffer {
 public:
  AbortedReceive() : UnboundBuffer(nullptr, 0) {}
  int aborts = 0;

  bool waitRecv(int*, std::chrono::milliseconds) override { return true; }
  bool waitSend(int*, std::chrono::milliseconds) override { return true; }
  void abortWaitRecv() override { ++aborts; }
  void abortWaitSend() override {}
  void send(int, std::uint64_t, std::size_t, std::size_t) override {}
  void recv(int, std::uint64_t, std::size_t, std::size_t) override {}
  void recv(std::vector<int>, std::uint64_t, std::size_t, std::size_t) override {}
};

TEST_F(GlooMemberTest, OpenReceivesEndWithTheGangAndDoNotBeginAfterIt) {
  AbortedReceive ended;
  AbortedReceive open;
  AbortedReceive late;
  member->add_open_receive(ended);
  member->remove_open_receive(ended);
  member->add_open_receive(open);
  EXPECT_EQ(open.aborts, 0);
  member->break_with({.kind = GangErrorKind::aborted});
  member->add_open_receive(late);
  EXPECT_EQ(ended.aborts, 0);
  EXPECT_EQ(open.aborts, 1);
  EXPECT_EQ(late.aborts, 1);
}

}  // namespace
}  // namespace gang
