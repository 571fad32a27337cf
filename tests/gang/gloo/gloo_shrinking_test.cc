#include "gang/gloo/gloo_shrinking.h"

#include <map>
#include <stdexcept>

#include "gang/agreement.h"
#include "tests/gang/gloo/gloo_ranks.h"

namespace gang {
namespace {

using std::chrono_literals::operator""ms;
using test::on_gloo_ranks;
using test::run_gloo_ranks;

TEST(GlooShrinking, SurvivorsContinueInTheirOldOrder) {
  on_gloo_ranks({.size = 4}, [](std::shared_ptr<Gang>& gang) {
    gang->barrier();
    if (gang->rank() == 1) return;
    EXPECT_THROW(gang->barrier(), GangError);
    const auto shrunk = gang->shrink({.grace = 300ms});
    EXPECT_EQ(shrunk->size(), 3);
    EXPECT_EQ(shrunk->info().root_ranks, (std::vector{0, 2, 3}));
    EXPECT_EQ(shrunk->rank(), gang->rank() == 0 ? 0 : gang->rank() - 1);
    EXPECT_EQ(all_sum(*shrunk, gang->rank()), 5);
    // The old gang is broken; the new one can make gangs.
    EXPECT_EQ(test::error_of([&] { gang->barrier(); }).kind, "peer_failed");
    EXPECT_THROW(gang->shrink(), InvalidOperation) << "already shrunk";
    EXPECT_EQ(all_sum(*shrunk->split({.color = 0}), 1), 3);
  });
}

TEST(GlooShrinking, ASoundGangShrinksToAllWithoutWaiting) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    const auto began = std::chrono::steady_clock::now();
    const auto shrunk = gang->shrink({.name = "again", .timeout = 5000ms});
    EXPECT_LT(std::chrono::steady_clock::now() - began, 10'000ms);
    EXPECT_EQ(shrunk->size(), 3);
    EXPECT_EQ(shrunk->name(), "again");
    EXPECT_EQ(shrunk->timeout(), 5000ms);
    EXPECT_EQ(all_sum(*shrunk, 1), 3);
    // And again.
    EXPECT_EQ(all_sum(*shrunk->shrink(), 1), 3);
  });
}

TEST(GlooShrinking, AMemberThatComesTooLateIsExcluded) {
  const auto errors =
      run_gloo_ranks({.size = 3, .timeout = 5000ms}, [](std::shared_ptr<Gang>& gang) {
        gang->barrier();
        if (gang->rank() == 2) std::this_thread::sleep_for(400ms);
        const auto shrunk = gang->shrink({.grace = 100ms});
        EXPECT_EQ(all_sum(*shrunk, 1), 2);
        EXPECT_THROW(gang->shrink({.grace = 100ms}), InvalidOperation);
      });
  EXPECT_EQ(errors[0].kind, "");
  EXPECT_EQ(errors[1].kind, "");
  EXPECT_EQ(errors[2].kind, "peer_failed");
  EXPECT_EQ(errors[2].ranks_at_fault, std::vector<int>{2});
}

TEST(GlooShrinking, TheOldGangNamesThoseThatAreGone) {
  on_gloo_ranks({.size = 3}, [](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 1) return;
    gang->shrink({.grace = 100ms});
    const auto error = test::error_of([&] { gang->barrier(); });
    EXPECT_EQ(error.kind, "peer_failed");
    EXPECT_EQ(error.ranks_at_fault, std::vector<int>{1});
  });
}

TEST(GlooShrinking, AGangOfOneRemains) {
  on_gloo_ranks({.size = 2}, [](std::shared_ptr<Gang>& gang) {
    if (gang->rank() == 1) return;
    const auto shrunk = gang->shrink({.grace = 50ms});
    EXPECT_EQ(shrunk->size(), 1);
    EXPECT_EQ(all_sum(*shrunk, 7), 7);
  });
}

// The notes of a gang whose members have agreed, but whose other members cannot be reached.
class LonelyConnector final : public GlooConnector {
 public:
  std::shared_ptr<gloo::transport::Context> connect(const GlooMembership&, Duration) override {
    throw std::runtime_error("nobody answers");
  }
  void close(gloo::transport::Context&) noexcept override {}
  void leave_note(const std::string& prefix, std::string_view text) noexcept override {
    if (keeps) notes.try_emplace(prefix, text);
  }
  std::optional<std::string> find_note(const std::string& prefix) noexcept override {
    const auto note = notes.find(prefix);
    return note == notes.end() ? std::nullopt : std::optional(note->second);
  }

  std::map<std::string, std::string> notes;
  bool keeps = true;
};

class GlooShrinkingAlone : public testing::Test {
 protected:
  GlooShrinkingAlone() {
    auto info = std::make_shared<GangInfo>();
    info->name = "dp";
    info->root_ranks = {4, 6};
    info->size = 2;
    member = std::make_unique<GlooMember>(
        info, 1, "dp",
        GlooWorld{std::make_shared<CompletionBoard>(std::shared_ptr<Runtime>(make_real_runtime())),
                  connector},
        nullptr);
  }

  std::shared_ptr<GlooMember> shrink() {
    return make_shrunk_member(*member, {.grace = 50ms}, CallSite::here(), 0);
  }

  std::shared_ptr<LonelyConnector> connector = std::make_shared<LonelyConnector>();
  std::unique_ptr<GlooMember> member;
};

TEST_F(GlooShrinkingAlone, IfTheOthersHaveLeftTheNewGangIsBrokenFromTheStart) {
  connector->notes["dp/shrink/members"] = "[0,1]";
  const auto shrunk = shrink();
  EXPECT_EQ(shrunk->size(), 2);
  EXPECT_TRUE(shrunk->is_broken());
  EXPECT_TRUE(member->is_broken());
}

TEST_F(GlooShrinkingAlone, WithoutAStoreNothingCanBeAgreed) {
  connector->keeps = false;
  const auto error = test::error_of([this] { shrink(); });
  EXPECT_EQ(error.kind, "connection");
}

}  // namespace
}  // namespace gang
