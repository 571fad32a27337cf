#include "gang/recording/pickle_writer.h"

#include <string>

#include <gtest/gtest.h>

namespace gang {
namespace {

TEST(PickleWriter, WritesTheBytesThatPythonReads) {
  PickleWriter writer;
  writer.begin_map();
  writer.text("a");
  writer.number(-2);
  writer.end_map();
  using std::string_literals::operator""s;
  EXPECT_EQ(writer.take(), "\x80\x02}(X\x01\0\0\0aJ\xfe\xff\xff\xffu."s);
}

TEST(PickleWriter, NumbersAreAsLongAsTheyNeedToBe) {
  const auto bytes_of = [](std::int64_t number) {
    PickleWriter writer;
    writer.number(number);
    return writer.take();
  };
  using std::string_literals::operator""s;
  EXPECT_EQ(bytes_of(0), "\x80\x02J\0\0\0\0."s);
  EXPECT_EQ(bytes_of(-1), "\x80\x02J\xff\xff\xff\xff."s);
  EXPECT_EQ(bytes_of(1LL << 32), "\x80\x02\x8a\x08\0\0\0\0\1\0\0\0."s);
}

TEST(PickleWriter, TextsAreAsLongAsTheyAre) {
  PickleWriter writer;
  writer.text(std::string(0x10203, 'a'));
  using std::string_literals::operator""s;
  EXPECT_EQ(writer.take(), "\x80\x02X\x03\x02\x01\0"s + std::string(0x10203, 'a') + ".");
}

}  // namespace
}  // namespace gang
