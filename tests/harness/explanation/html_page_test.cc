#include "harness/explanation/html_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace gang::harness {
namespace {

using testing::HasSubstr;
using testing::Not;

RunResult body_of_run(int world_size, Program::Run body) {
  const Program program{.name = "test", .description = "", .run = std::move(body)};
  return run(program, {.program = "test", .world_size = world_size},
             {.timeline = sim::Recording::on});
}

RunResult deadlock(int world_size, std::string_view label = "") {
  return body_of_run(world_size, [label](Rank& rank) {
    if (rank.rank() != 1) rank.root()->barrier({.label = label});
  });
}

TEST(HtmlPage, NeedsNothingFromElsewhere) {
  const std::string page = to_html(deadlock(4));
  EXPECT_THAT(page, testing::StartsWith("<!doctype html>"));
  for (const char* elsewhere : {"src=", "href=", "@import", "url(", "http:", "https:"}) {
    std::string rest = page;
    // The name of SVG's elements, and of arrow heads within the page, are not fetched.
    for (const std::string& name :
         {std::string("\"http://www.w3.org/2000/svg\""), std::string("`url(#arrow-")}) {
      const std::size_t place = rest.find(name);
      ASSERT_NE(place, std::string::npos) << name;
      rest.erase(place, name.size());
    }
    EXPECT_THAT(rest, Not(HasSubstr(elsewhere)));
  }
}

TEST(HtmlPage, EveryMarkIsFilled) {
  const std::string page = to_html(deadlock(4));
  for (const char* mark : {"@TITLE@", "@STYLE@", "@TEXT@", "@DATA@", "@SCRIPT@"})
    EXPECT_THAT(page, Not(HasSubstr(mark)));
  EXPECT_THAT(page, HasSubstr("<title>test: participant_missing</title>"));
}

TEST(HtmlPage, TextsOfTheProgramNeverBecomeMarkup) {
  const std::string page =
      to_html(deadlock(4, "</script><script>alert(1)</script><!-- @SCRIPT@ & \xff"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, HasSubstr("\\u003cscript\\u003ealert(1)"));
  EXPECT_THAT(page, HasSubstr("&lt;/script"));
  std::size_t ends = 0;
  for (std::size_t at = page.find("</script>"); at != std::string::npos;
       at = page.find("</script>", at + 1))
    ++ends;
  EXPECT_EQ(ends, 2U);
}

TEST(HtmlPage, TheDataCanBeReadBack) {
  const std::string page = to_html(deadlock(4, "a < b & c"));
  const std::string begin = "<script type=\"application/json\" id=\"run\">";
  const std::size_t from = page.find(begin) + begin.size();
  const auto data = nlohmann::json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_THAT(data["nodes"][0]["operation"].get<std::string>(), HasSubstr("a < b & c"));
}

TEST(HtmlPage, WithoutScriptsItShowsTheTextReport) {
  EXPECT_THAT(to_html(deadlock(4)),
              HasSubstr("<pre class=\"report\">DEADLOCK  participant_missing"));
}

TEST(HtmlPage, StaysSmallInALargeWorld) {
#if defined(__SANITIZE_THREAD__)
  constexpr int ranks = 4'000;  // each a thread, of which it allows about 8,000
#else
  constexpr int ranks = 10'000;
#endif
  EXPECT_LT(to_html(deadlock(ranks)).size(), 200'000U);
}

TEST(HtmlPage, DataHasNoCharacterThatMarkupBeginsWith) {
  const std::string page = to_html(deadlock(4, "a < b > c & d"));
  const std::string begin = "<script type=\"application/json\" id=\"run\">";
  const std::size_t from = page.find(begin) + begin.size();
  const std::string data = page.substr(from, page.find("</script>", from) - from);
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
}

TEST(HtmlPage, TheNameOfAProgramIsNoMarkup) {
  RunResult result;
  result.specification.program = "some/where/a<b>.toml";
  result.report.outcome = sim::Outcome::step_limit;
  EXPECT_THAT(to_html(result), HasSubstr("<title>a&lt;b&gt;.toml: step_limit</title>"));
}

}  // namespace
}  // namespace gang::harness
