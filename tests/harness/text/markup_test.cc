#include "harness/text/markup.h"

#include <gtest/gtest.h>

namespace gang::harness {
namespace {

TEST(Markup, EscapedLeavesNothingThatAParserTakesForMarkup) {
  EXPECT_EQ(markup_escaped("<a href=\"x\">'&'</a> →\n"),
            "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;&lt;/a&gt; →\n");
}

TEST(Markup, OfXmlKeepsLineBreaksAndLeavesOutWhatXmlCannotSay) {
  EXPECT_EQ(xml_escaped("a\tb\r\n<\x01\x1b[0m>"), "a&#9;b&#13;&#10;&lt;[0m&gt;");
  EXPECT_EQ(xml_escaped("a\xef\xbf\xbe"
                        "b\xef\xbf\xbf"
                        "c"),
            "abc")
      << "U+FFFE and U+FFFF";
}

TEST(Markup, OfXmlReplacesBytesThatAreNotUtf8) {
  EXPECT_EQ(xml_escaped("a\xff"
                        "b"),
            "a\uFFFD"
            "b");
  EXPECT_EQ(xml_escaped("\xe5\xa4<"), "\uFFFD\uFFFD&lt;") << "a character without its end";
  EXPECT_EQ(xml_escaped("\xe5\xa4"), "\uFFFD\uFFFD");
  EXPECT_EQ(xml_escaped("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "half of a surrogate pair";
}

TEST(Markup, OfXmlKeepsLettersOfAllLanguages) {
  EXPECT_EQ(xml_escaped("größer → 大"), "größer → 大");
}

}  // namespace
}  // namespace gang::harness
