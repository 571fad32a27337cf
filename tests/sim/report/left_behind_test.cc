#include "sim/report/left_behind.h"

#include <nlohmann/json.hpp>

#include "sim/report/report_json.h"
#include "tests/sim/worlds.h"

namespace gang::sim {
namespace {

using namespace test;  // NOLINT(google-build-using-namespace)

TEST(LeftBehindText, SaysHowManyWhoAndWhy) {
  EXPECT_EQ(to_string(std::vector<LeftBehind>{}), "");
  EXPECT_EQ(
      to_string(std::vector<LeftBehind>{{.rank = 3, .by = LeftBehindBy::swallowing}}),
      "1 context could not be unwound and leaks its memory: rank 3 (caught the end of the run "
      "and went on)");
  EXPECT_EQ(
      to_string(std::vector<LeftBehind>{
          {.rank = 0}, {.rank = 1, .context = "loader"}, {.rank = 2, .by = LeftBehindBy::ending}}),
      "3 contexts could not be unwound and leak their memory: ranks 0-1 (blocked in a "
      "destructor or a noexcept function); rank 2 (ended the process)");
}

TEST(LeftBehindText, IsReadBackFromJson) {
  const LeftBehind left{.rank = 7, .context = "loader", .by = LeftBehindBy::ending};
  EXPECT_EQ(left_behind_from_json(to_json(left)), left);
  EXPECT_THROW(left_behind_from_json({{"rank", 1}, {"context", ""}, {"by", "magic"}}),
               InvalidArgument);
}

}  // namespace
}  // namespace gang::sim
