#include "sim/text/marked_text.h"

#include <fmt/format.h>

#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(MarkedText, JoinsWhatHasTheSameRole) {
  MarkedText text;
  text.add("a");
  text.add("b");
  text.add("", TextRole::strong);
  text.add("c", TextRole::faint);
  EXPECT_THAT(text.spans(), ElementsAre(TextSpan{"ab"}, TextSpan{"c", TextRole::faint}));
  EXPECT_EQ(plain_text(text), "abc");
}

TEST(MarkedText, AdviceIsAlignedAndWrapped) {
  MarkedText text;
  text.add_advice("Fix", "do it");
  const std::string wide(60, 'x');
  text.add_advice("", wide + " yyyyyyyyyy");
  text.add_advice("Nothing", "");
  EXPECT_EQ(plain_text(text), fmt::format("  Fix        do it\n"
                                          "             {}\n"
                                          "             yyyyyyyyyy\n",
                                          wide));
  EXPECT_EQ(text.spans().at(1), (TextSpan{"Fix", TextRole::strong}));
}

TEST(MarkedText, ACommandStaysOnItsLine) {
  MarkedText text;
  const std::string command(100, 'x');
  text.add_command("Reproduce", command);
  text.add_command("Unexpected", "yes");
  EXPECT_EQ(plain_text(text), "  Reproduce  " + command + "\n  Unexpected  yes\n");
}

TEST(MarkedText, ShowControlCharactersOfProgramsAsEscapes) {
  MarkedText text;
  text.add("a\x1b[31mb\n");
  EXPECT_EQ(plain_text(text), "a\\x1b[31mb\n");
}

}  // namespace
}  // namespace gang::sim
