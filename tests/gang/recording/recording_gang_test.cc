#include "gang/recording/recording_gang.h"

#include <gtest/gtest.h>

#include "gang/error.h"
#include "gang/fake_gang.h"

namespace gang {
namespace {

// Counts the gangs that broke.
class CountingRing final : public CallRing {
 public:
  CountingRing() : CallRing({.capacity = 8}) {}

  std::vector<DumpedState> states() const {
    CallTable calls;
    std::vector<DumpedState> states;
    for (const DumpedCall& call : dump(calls, ProgramEnd::none).calls) states.push_back(call.state);
    return states;
  }
  int broken = 0;

 protected:
  void gang_broke() noexcept override { ++broken; }
};

// Fails every call.
class BrokenGang final : public ForwardingGang {
 public:
  using ForwardingGang::ForwardingGang;

 protected:
  void before(const Operation& operation) override {
    throw GangError({.kind = GangErrorKind::connection, .operation = operation.collective});
  }
};

constexpr DumpedState started = DumpedState::started;
constexpr DumpedState completed = DumpedState::completed;

TEST(RecordingGang, ACallIsCompleteOnceTheProgramHasSeenIt) {
  const auto ring = std::make_shared<CountingRing>();
  const auto gang = std::make_shared<RecordingGang>(make_fake_gang({.size = 2}), ring);
  gang->barrier();
  Work work = gang->start_barrier();
  EXPECT_EQ(ring->states(), (std::vector{completed, started}));
  work.wait();
  EXPECT_EQ(ring->states(), (std::vector{completed, completed}));
  EXPECT_EQ(ring->broken, 0);
}

TEST(RecordingGang, AGangBreaksOnce) {
  const auto ring = std::make_shared<CountingRing>();
  const auto broken = std::make_shared<BrokenGang>(make_fake_gang({.size = 2}));
  const auto gang = std::make_shared<RecordingGang>(broken, ring);
  EXPECT_THROW(gang->barrier(), GangError);
  EXPECT_THROW(gang->start_barrier(), GangError);
  EXPECT_EQ(ring->broken, 1);
  EXPECT_EQ(ring->states(), (std::vector{started, started}));
}

}  // namespace
}  // namespace gang
