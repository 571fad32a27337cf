#include "harness/text/junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace gang::harness {
namespace {

using namespace std::chrono_literals;

TEST(Junit, HasSuitesWithTheirFailuresEscaped) {
  const std::vector<JunitSuite> suites = {
      {"first", {{"first", "holds", 250ms}}},
      {"<second>",
       {{"second", "fails", 1s, JunitCase::Failure{"it is \"so\"", "at length\n& in full"}}}}};
  EXPECT_EQ(to_junit_xml("gangsim", suites),
            R"(<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="gangsim">
  <testsuite name="first" tests="1" failures="0" time="0.250000">
    <testcase classname="first" name="holds" time="0.250000"/>
  </testsuite>
  <testsuite name="&lt;second&gt;" tests="1" failures="1" time="1.000000">
    <testcase classname="second" name="fails" time="1.000000">
      <failure message="it is &quot;so&quot;">at length&#10;&amp; in full</failure>
    </testcase>
  </testsuite>
</testsuites>
)");
}

TEST(Junit, TheTimeOfASuiteIsThatOfAllItsCases) {
  const std::string xml =
      to_junit_xml("gangsim", {{"both", {{"class", "a<b", 250ms}, {"class", "c", 500ms}}}});
  EXPECT_THAT(xml, testing::HasSubstr(R"(tests="2" failures="0" time="0.750000")"));
  EXPECT_THAT(xml, testing::HasSubstr(R"(name="a&lt;b")"));
}

TEST(Junit, AFailureCountsWithoutAText) {
  const std::string xml =
      to_junit_xml("gangsim", {{"one", {{"class", "fails", 1s, JunitCase::Failure{"it is so"}}}}});
  EXPECT_THAT(xml, testing::HasSubstr(R"(tests="1" failures="1")"));
}

}  // namespace
}  // namespace gang::harness
