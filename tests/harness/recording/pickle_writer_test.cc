#include "harness/recording/pickle_writer.h"

#include <limits>

#include <gtest/gtest.h>

#include "harness/recording/pickle_reader.h"

namespace gang::harness {
namespace {

TEST(PickleWriter, WritesTheBytesThatPythonReads) {
  PickleWriter writer;
  writer.begin_map();
  writer.text("a");
  writer.number(-2);
  writer.end_map();
  using namespace std::string_literals;
  EXPECT_EQ(writer.take(), "\x80\x02}(X\x01\0\0\0aJ\xfe\xff\xff\xffu."s);
}

TEST(PickleWriter, EveryNumberComesBack) {
  using Limits = std::numeric_limits<std::int64_t>;
  const std::vector<std::int64_t> numbers = {0,
                                             -1,
                                             255,
                                             256,
                                             2147483647,
                                             2147483648,
                                             -2147483648LL,
                                             -2147483649LL,
                                             Limits::min(),
                                             Limits::max()};
  PickleWriter writer;
  writer.begin_list();
  for (const std::int64_t number : numbers) writer.number(number);
  writer.flag(true);
  writer.none();
  writer.end_list();
  const std::string bytes = writer.take();
  const ValueTree tree = read_pickle(bytes);
  const auto items = tree.items(tree.root());
  ASSERT_EQ(items.size(), numbers.size() + 2);
  for (std::size_t i = 0; i < numbers.size(); ++i)
    EXPECT_EQ(std::get<std::int64_t>(items[i]), numbers[i]);
  EXPECT_TRUE(std::get<bool>(items[numbers.size()]));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(items.back()));
}

}  // namespace
}  // namespace gang::harness
