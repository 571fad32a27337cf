#include "harness/text/markup.h"

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

TEST(Markup, EscapedLeavesNothingThatAParserTakesForMarkup) {
  EXPECT_EQ(markup_escaped("<a href=\"x\">'&'</a> →\n"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt; →\n");
}

TEST(Markup, OfXmlKeepsLineBreaksAndLeavesOutWhatXmlCannotSay) {
  EXPECT_EQ(xml_escaped("a\tb\n<\x01\x1b[0m>"), "a\tb&#10;&lt;[0m&gt;");
}

TEST(Markup, OfXmlKeepsLettersOfAllLanguages) {
  EXPECT_EQ(xml_escaped("größer → 大"), "größer → 大");
}

}  // namespace
}  // namespace gang::harness
