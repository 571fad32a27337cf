#include "sim/state/fingerprint.h"

#include <functional>

#include <gtest/gtest.h>

namespace gang::sim {
namespace {

Collective call() {
  Collective collective;
  collective.kind = OperationKind::reduce;
  collective.count = 8;
  collective.peer = 2;
  return collective;
}

bool match(const Collective& a, const Collective& b, MatchRules rules = {}) {
  Fingerprint first(a, rules);
  return first.matches(Fingerprint(b, rules));
}

TEST(Fingerprint, EqualCallsMatch) { EXPECT_TRUE(match(call(), call())); }

TEST(Fingerprint, EveryMatchedFieldTellsCallsApart) {
  const std::vector<std::function<void(Collective&)>> changes = {
      [](Collective& c) { c.kind = OperationKind::all_reduce; },
      [](Collective& c) { c.data_type = DataType::f64; },
      [](Collective& c) { c.reduce_operation = ReduceOperation::max; },
      [](Collective& c) { c.peer = 3; },
      [](Collective& c) { c.peer = -2; },
      [](Collective& c) { c.count = 9; },
      [](Collective& c) { c.count = std::int64_t{8} << 32; },
      [](Collective& c) { c.detail = 1; },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Collective other = call();
    changes[i](other);
    EXPECT_FALSE(match(call(), other)) << "change " << i;
    EXPECT_FALSE(match(other, call())) << "change " << i;
  }
}

TEST(Fingerprint, WhatIsNotMatchedDoesNotTellThemApart) {
  Collective other = call();
  other.sequence_number = 7;
  other.call_site = CallSite::at("train.cc", 41);
  other.shape = Shape{2, 4};
  other.blocking = false;
  EXPECT_TRUE(match(call(), other));
}

TEST(Fingerprint, TheBlockingFormCountsWhereItIsAskedFor) {
  Collective started = call();
  started.blocking = false;
  EXPECT_FALSE(match(call(), started, {.strict_blocking = true}));
  EXPECT_TRUE(match(started, started, {.strict_blocking = true}));
}

TEST(Fingerprint, LabelsCountOnlyWhereBothGiveOne) {
  Collective a = call();
  Collective b = call();
  a.label = "step 1";
  EXPECT_TRUE(match(a, b));
  EXPECT_TRUE(match(b, a));
  b.label = "step 2";
  EXPECT_FALSE(match(a, b));
  b.label = std::string_view("step 1");
  EXPECT_TRUE(match(a, b));
}

TEST(Fingerprint, TheFirstLabelGivenIsRemembered) {
  Collective without = call();
  Collective one = call();
  Collective two = call();
  one.label = "step 1";
  two.label = "step 2";
  Fingerprint first(without, MatchRules{});
  EXPECT_TRUE(first.matches(Fingerprint(one, MatchRules{})));
  EXPECT_TRUE(first.matches(Fingerprint(without, MatchRules{})));
  EXPECT_FALSE(first.matches(Fingerprint(two, MatchRules{})));
}

TEST(Fingerprint, ACallWithoutALabelIsAnotherOneWhereThatIsAskedFor) {
  const MatchRules strict{.strict_labels = true};
  Collective labelled = call();
  labelled.label = "step 1";
  EXPECT_FALSE(match(call(), labelled, strict));
  EXPECT_FALSE(match(labelled, call(), strict));
  EXPECT_TRUE(match(labelled, labelled, strict));
  EXPECT_TRUE(match(call(), call(), strict));
}

}  // namespace
}  // namespace gang::sim
