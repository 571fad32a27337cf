#include "sim/text/text_layout.h"

#include <sstream>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(ColumnCount, CountsACodePointAsOne) {
  EXPECT_EQ(column_count(""), 0U);
  EXPECT_EQ(column_count("abc"), 3U);
  EXPECT_EQ(column_count("0 → 1"), 5U);
}

TEST(Wrapped, BreaksAtSpacesAndIndentsEveryLine) {
  std::string text;
  for (int i = 0; i < 40; ++i) text += "word ";
  const auto lines = lines_of(wrapped(text, "  "));
  ASSERT_EQ(lines.size(), 3U);
  for (const std::string& line : lines) {
    EXPECT_LE(column_count(line), 80U);
    EXPECT_TRUE(line.starts_with("  word"));
    EXPECT_TRUE(line.ends_with("word"));
  }
  EXPECT_EQ(column_count(lines[0]), 76U);  // another word would make it 81
}

TEST(Wrapped, FillsALineOfExactlyEightyColumns) {
  std::string text(80, 'a');
  text[40] = ' ';
  const std::string line = wrapped(text, "");
  EXPECT_EQ(line, text.append("\n"));
}

TEST(Wrapped, NothingGivesNoLine) {
  EXPECT_EQ(wrapped("", "  "), "");
  EXPECT_EQ(wrapped("   ", "  "), "");
}

TEST(Wrapped, KeepsTheLinesOfTheText) {
  EXPECT_EQ(wrapped("AssertionError:\n\n x: 1\n y: 2\n", "  "),
            "  AssertionError:\n  x: 1\n  y: 2\n");
  const std::string long_line = std::string(60, 'a') + " " + std::string(60, 'b');
  EXPECT_EQ(wrapped(long_line + "\n" + long_line, ""),
            wrapped(long_line, "") + wrapped(long_line, ""));
}

TEST(Wrapped, BreaksAWordThatNoLineHolds) {
  const std::string word(200, 'x');
  std::string joined;
  for (const std::string& line : lines_of(wrapped("on " + word + " off", "  "))) {
    EXPECT_LE(column_count(line), 80U);
    EXPECT_TRUE(line.starts_with("  "));
    joined += line.substr(2);
  }
  EXPECT_EQ(joined, "on " + word + " off");
}

TEST(Table, AlignsItsColumns) {
  EXPECT_EQ(table({{"rank", "at"}, {"0-1023", "a.cc:1"}}),
            "  rank    at\n"
            "  0-1023  a.cc:1\n");
}

TEST(Table, ShortensTheWidestCellsToEightyColumns) {
  const std::string wide(100, 'w');
  for (const auto& row : std::vector<std::vector<std::string>>{
           {"0-6", wide, "7", "train.cc:41"}, {wide, wide, wide, wide}, {"a", wide, "b", wide}}) {
    const std::string line = lines_of(table({row})).front();
    EXPECT_LE(column_count(line), 80U) << line;
    EXPECT_THAT(line, HasSubstr("www..."));
  }
}

TEST(Table, KeepsNarrowCellsWhole) {
  const std::string line = table({{"0-6", std::string(100, 'w'), "7", "train.cc:41"}});
  EXPECT_THAT(line, HasSubstr("  0-6  ww"));
  EXPECT_THAT(line, HasSubstr("  7  train.cc:41\n"));
}

TEST(Table, BreaksCellsAtSpacesBeforeItShortensThem) {
  const std::string call = "root[0-3]  all_reduce #3 mean f32[8] \"the gradients of step 3\"";
  EXPECT_EQ(table({{"rank", "blocked in", "waits for", "at"}, {"0-1", call, "2", "train.cc:17"}}),
            "  rank  blocked in                                 waits for  at\n"
            "  0-1   root[0-3]  all_reduce #3 mean f32[8] \"the  2          train.cc:17\n"
            "        gradients of step 3\"\n");
  const auto lines = lines_of(table({{"a", std::string(40, 'b')}, {std::string(200, 'c'), "d"}}));
  EXPECT_EQ(lines.size(), 2U);
}

TEST(Described, TheTextStandsBesideTheName) {
  EXPECT_EQ(described("--seed S", "for schedules", 12), "  --seed S  for schedules\n");
  EXPECT_EQ(described("--quiet", "", 12), "  --quiet\n");
  const auto lines = lines_of(described("--seed S", std::string(66, 's') + " and data", 12));
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], std::string(12, ' ') + "and data");
}

TEST(Described, TheTextStandsBelowANameThatReachesIt) {
  EXPECT_EQ(described("--quietly", "nothing", 12), "  --quietly nothing\n");
  EXPECT_EQ(described("--quietest", "nothing", 12), "  --quietest\n            nothing\n");
}

TEST(Table, ACellTakesThreeLinesAtMost) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "word ";
  const auto lines = lines_of(table({{text}}));
  ASSERT_EQ(lines.size(), 3U);
  EXPECT_TRUE(lines[0].ends_with("word"));
  EXPECT_TRUE(lines[2].ends_with("..."));
}

TEST(Table, ShortensPlacesLastAndKeepsTheirLines) {
  const std::string place = "missing_participants.cc:17";
  const auto cells = [](std::size_t width, const std::string& at) {
    return lines_of(table(
        {{"rank", "blocked in", "waits for", "at"}, {"0-6", std::string(width, 'w'), "7", at}}));
  };
  EXPECT_TRUE(cells(60, place)[1].ends_with("  " + place));
  std::string long_place(100, 'p');
  long_place += ".cc:17";
  const std::string line = cells(60, long_place)[1];
  EXPECT_LE(column_count(line), 80U);
  EXPECT_THAT(line, HasSubstr("  ...pp"));
  EXPECT_TRUE(line.ends_with("pp.cc:17"));
}

TEST(Table, DoesNotCutACodePointInTwo) {
  std::string arrows;
  for (int i = 0; i < 100; ++i) arrows += "→";
  const std::string line = lines_of(table({{arrows}})).front();
  EXPECT_LE(column_count(line), 80U);
  EXPECT_TRUE(line.ends_with("→..."));
}

TEST(Table, ItsTitlesAreFaint) {
  const MarkedText text = marked_table({{"rank", "at"}, {"0", "a.cc:1"}});
  EXPECT_THAT(text.spans(), ElementsAre(TextSpan{"  rank  at", TextRole::faint},
                                        TextSpan{"\n  0     a.cc:1\n", TextRole::plain}));
}

}  // namespace
}  // namespace gang::sim
