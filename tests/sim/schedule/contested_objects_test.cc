#include "sim/schedule/contested_objects.h"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gang/operation.h"

namespace gang::sim {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

class ContestedObjectsTest : public testing::Test {
 protected:
  // A step of the context, which accesses the object; the number of the access.
  std::uint32_t note(TaskId task, AccessMode mode, StepKey object,
                     AccessKind kind = AccessKind::call, std::int32_t tag = 0) {
    const auto number = static_cast<std::uint32_t>(log_.accesses.size());
    log_.choices.push_back({.task = task,
                            .first_mark = static_cast<std::uint32_t>(log_.marks.size()),
                            .first_access = number});
    log_.accesses.push_back(
        {.kind = kind, .mode = mode, .tag = tag, .task = task, .object = object});
    return number;
  }
  void read_log(const Knowledge& known = {}) { contested_.read(log_, known); }
  // Whether the access is to such an object.
  bool is_contested(std::uint32_t access) const { return !objects_of(access).empty(); }
  // The contested ones that it is to.
  std::vector<std::uint32_t> objects_of(std::uint32_t access) const {
    std::vector<std::uint32_t> found;
    for (const auto& use : contested_.uses())
      if (use.access == access) found.push_back(use.object);
    return found;
  }

  StepLog log_;
  ContestedObjects contested_;
};

TEST_F(ContestedObjectsTest, TheGangOfACallIsIfAnotherContextBreaksIt) {
  using enum AccessMode;
  const auto call = note(0, arrive, 1, AccessKind::arrival);
  log_.accesses[call].gang = 9;
  const auto other = note(1, arrive, 1, AccessKind::arrival);
  log_.accesses[other].gang = 9;
  read_log();
  EXPECT_THAT(contested_.uses(), IsEmpty());
  const auto broken = note(0, write, 9);
  read_log();
  EXPECT_EQ(objects_of(other), objects_of(broken));
  EXPECT_EQ(objects_of(call).size(), 1U);
}

TEST_F(ContestedObjectsTest, AreThoseThatTwoContextsAccessInWaysThatDoNotCommute) {
  using enum AccessMode;
  for (const auto& [first, second] :
       {std::pair(write, write), {write, read}, {look, write}, {arrive, look}, {look, arrive}}) {
    log_.clear();
    note(0, first, 7);
    note(1, second, 7);
    read_log();
    EXPECT_TRUE(is_contested(0));
    EXPECT_EQ(contested_.steps(), 2U);
  }
  for (const auto& [first, second] :
       {std::pair(AccessMode::read, AccessMode::read), {arrive, arrive}, {look, look}}) {
    log_.clear();
    note(0, first, 7);
    note(1, second, 7);
    read_log();
    EXPECT_FALSE(is_contested(0));
    EXPECT_EQ(contested_.steps(), 0U);
  }
}

TEST_F(ContestedObjectsTest, AreNotThoseOfOneContext) {
  note(3, AccessMode::write, 7);
  note(3, AccessMode::write, 7);
  note(2, AccessMode::write, 8);
  read_log();
  EXPECT_EQ(contested_.steps(), 0U);
  for (const std::uint32_t access : {0U, 1U, 2U}) EXPECT_FALSE(is_contested(access));
}

TEST_F(ContestedObjectsTest, AreNotAccessedAfterTheirLastStep) {
  note(0, AccessMode::write, 7);
  note(1, AccessMode::write, 7);
  note(1, AccessMode::write, 8);
  note(0, AccessMode::read, 9);
  read_log();
  EXPECT_EQ(contested_.steps(), 2U);
}

TEST_F(ContestedObjectsTest, HaveNumbersThatTheirAccessesKnow) {
  const auto own = note(0, AccessMode::write, 5);
  const auto first = note(0, AccessMode::read, 6);
  const auto second = note(0, AccessMode::arrive, 7);
  const auto looks = note(1, AccessMode::look, 7);
  const auto writes = note(1, AccessMode::write, 6);
  read_log();
  EXPECT_EQ(contested_.objects(), 3U);
  EXPECT_FALSE(is_contested(own));
  for (const auto access : {first, second, looks, writes}) EXPECT_TRUE(is_contested(access));
  EXPECT_THAT(objects_of(first), ElementsAre(1));
  EXPECT_THAT(objects_of(second), ElementsAre(2));
  EXPECT_THAT(objects_of(looks), ElementsAre(2));
  EXPECT_THAT(objects_of(writes), ElementsAre(1));
  log_.clear();
  note(0, AccessMode::read, 6);
  read_log();
  EXPECT_EQ(contested_.objects(), 0U);  // nobody writes
  EXPECT_FALSE(is_contested(0));
}

// The third access makes it contested, whoever of the first two it does not commute with.
TEST_F(ContestedObjectsTest, AreSoForAllTheirAccesses) {
  note(0, AccessMode::look, 7);
  note(0, AccessMode::arrive, 7);
  note(1, AccessMode::arrive, 7);
  read_log();
  EXPECT_EQ(contested_.objects(), 1U);
  EXPECT_TRUE(is_contested(1));
}

TEST_F(ContestedObjectsTest, OfMessagesAreThoseThatAReceiveFromAnySourceCouldTake) {
  const auto send = [this](TaskId task, std::int32_t tag) {
    return note(task, AccessMode::write, 9, AccessKind::message, tag);
  };
  send(0, 1);
  send(1, 1);
  const auto other = send(1, 2);
  read_log();
  EXPECT_EQ(contested_.steps(), 0U);
  EXPECT_THAT(objects_of(0), IsEmpty());
  read_log({.any_receives = {{9, 1}}});
  EXPECT_EQ(contested_.steps(), 2U);
  EXPECT_TRUE(is_contested(0));
  EXPECT_THAT(objects_of(other), IsEmpty());
  read_log({.any_receives = {{9, 1}, {9, any_tag}}});
  EXPECT_EQ(contested_.steps(), 3U);
  EXPECT_TRUE(is_contested(other));
  EXPECT_EQ(objects_of(0).size(), 2U);
  EXPECT_EQ(objects_of(other).size(), 1U);
}

TEST_F(ContestedObjectsTest, OfMessagesAreThoseThatALookForThemCouldSee) {
  const auto sent = note(1, AccessMode::write, 9, AccessKind::message);
  const auto other = note(1, AccessMode::write, 8, AccessKind::message);
  read_log();
  EXPECT_EQ(contested_.steps(), 0U);
  const auto look = note(0, AccessMode::look, coming_to(9), AccessKind::look);
  read_log();
  EXPECT_TRUE(is_contested(look));
  EXPECT_EQ(objects_of(sent), objects_of(look));
  EXPECT_FALSE(is_contested(other));
  EXPECT_EQ(contested_.uses().front().mode, AccessMode::arrive);
}

}  // namespace
}  // namespace gang::sim
