#include "gang/nccl/store_meeting.h"

#include <chrono>
#include <cstdint>
#include <span>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/store/memory_store.h"

namespace gang {
namespace {

using std::chrono::milliseconds;
using testing::ElementsAre;
using Said = std::vector<std::optional<std::string>>;

// What each rank of `ranks` gets at one meeting of `size`.
std::vector<Said> meet(const std::vector<int>& ranks, int size, Duration patience,
                       const std::string& note = "") {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const std::shared_ptr<Store> store = make_memory_store(*runtime);
  std::vector<Said> told(ranks.size());
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < ranks.size(); ++i)
    threads.emplace_back([&, i] {
      const auto meeting = make_store_meeting(store->new_client(), runtime);
      if (!note.empty()) meeting->leave_note("gang", note);
      told[i] = meeting->meet({.key = "gang#0",
                               .gang_key = "gang",
                               .rank = ranks[i],
                               .size = size,
                               .deadline = runtime->now() + patience},
                              std::string(1, static_cast<char>('a' + ranks[i])));
    });
  threads.clear();
  return told;
}

TEST(StoreMeeting, EachMemberGetsWhatAllSay) {
  for (const Said& said : meet({0, 1, 2}, 3, std::chrono::seconds(20)))
    EXPECT_THAT(said, ElementsAre("a", "b", "c"));
}

TEST(StoreMeeting, AnAbsentMemberSaysNothing) {
  for (const Said& said : meet({0, 2}, 3, milliseconds(50)))
    EXPECT_THAT(said, ElementsAre("a", std::nullopt, "c"));
  for (const Said& said : meet({1, 2}, 3, milliseconds(50))) EXPECT_EQ(said.front(), std::nullopt);
}

TEST(StoreMeeting, ANoteEndsIt) {
  const auto began = std::chrono::steady_clock::now();
  const auto told = meet({1}, 2, std::chrono::seconds(60), "broken");
  EXPECT_EQ(told.front().front(), std::nullopt);
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(30));
}

TEST(StoreMeeting, TheFirstNoteStays) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto meeting = make_store_meeting(make_memory_store(*runtime), runtime);
  EXPECT_EQ(meeting->find_note("gang"), std::nullopt);
  meeting->leave_note("gang", "one");
  meeting->leave_note("gang", "two");
  EXPECT_EQ(meeting->find_note("gang"), "one");
}

TEST(StoreMeeting, WhoIsGoneIsNotAwaited) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto meet_without = [&runtime](int gone, int rank) {
    const auto meeting = make_store_meeting(make_memory_store(*runtime), runtime);
    const int list[] = {gone};
    return meeting->meet({.key = "gang#0",
                          .gang_key = "gang",
                          .rank = rank,
                          .size = 2,
                          .deadline = runtime->now() + std::chrono::minutes(10),
                          .gone = list},
                         "here");
  };
  const TimePoint began = runtime->now();
  EXPECT_THAT(meet_without(1, 0), ElementsAre("here", std::nullopt));
  EXPECT_THAT(meet_without(0, 1), ElementsAre(std::nullopt, "here"));
  EXPECT_LT(runtime->now() - began, std::chrono::minutes(1));
}

TEST(StoreMeeting, AListThatNoMemberCanHaveWrittenIsRefused) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  for (const std::vector<std::uint8_t>& list :
       {std::vector<std::uint8_t>{0x91, 0xc0}, {0x92, 0x01, 0xc0}, {0xc0}, {}}) {
    const std::shared_ptr<Store> store = make_memory_store(*runtime);
    store->set("gang#0/all", std::as_bytes(std::span(list)));
    const auto meeting = make_store_meeting(store, runtime);
    EXPECT_THROW(meeting->meet({.key = "gang#0",
                                .gang_key = "gang",
                                .rank = 1,
                                .size = 2,
                                .deadline = runtime->now() + std::chrono::minutes(10)},
                               "here"),
                 StoreError);
  }
}

TEST(StoreMeeting, WhatIsProposedFirstIsDecided) {
  const std::shared_ptr<Runtime> runtime = make_real_runtime();
  const auto meeting = make_store_meeting(make_memory_store(*runtime), runtime);
  EXPECT_EQ(meeting->decide("key", "one"), "one");
  EXPECT_EQ(meeting->decide("key", "two"), "one");
}

}  // namespace
}  // namespace gang
