#include "gang/visible_text.h"

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(VisibleText, ShowsControlCharactersAsEscapes) {
  EXPECT_EQ(visible("step 3 \u2192 4 \u00e4"), "step 3 \u2192 4 \u00e4");
  EXPECT_EQ(visible("\x1b[31mred\a"), "\\x1b[31mred\\x07");
  EXPECT_EQ(visible("a\tb\r\nc\x7f"), "a\\tb\\r\\nc\\x7f");
  EXPECT_EQ(visible(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(visible("\xc2\x9b"
                    "31m"),
            "\\x9b31m");  // the one-byte form of ESC [, in UTF-8
  EXPECT_EQ(visible("\xc2\x80\xc2\x9f\xc2\xa0"), "\\x80\\x9f\xc2\xa0");
}

TEST(VisibleText, KeepsLineBreaksIfAsked) {
  EXPECT_EQ(visible("a\nb\x1b", LineBreaks::kept), "a\nb\\x1b");
}

}  // namespace
}  // namespace gang
