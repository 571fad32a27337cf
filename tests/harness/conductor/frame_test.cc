#include "harness/conductor/frame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/harness/conductor/bytes.h"

namespace gang::harness {
namespace {

using conducted::bytes_of;
using testing::ElementsAre;
using testing::IsEmpty;

TEST(Frame, HoldsWhatWasWritten) {
  FrameWriter writer(9);
  writer.number(std::uint32_t{0xfffffffeU});
  writer.number(std::int64_t{-5});
  writer.text("naïve");
  writer.bytes(bytes_of("ab"));
  const std::vector<std::int64_t> numbers = {1, -2};
  writer.numbers(std::span<const std::int64_t>(numbers));
  const Frame frame = conducted::without_size(writer.finish());
  FrameReader reader(frame);
  EXPECT_EQ(reader.number<std::uint8_t>(), 9);
  EXPECT_EQ(reader.number<std::uint32_t>(), 0xfffffffeU);
  EXPECT_EQ(reader.number<std::int64_t>(), -5);
  EXPECT_EQ(reader.text(), "naïve");
  EXPECT_EQ(reader.bytes().size(), 2U);
  EXPECT_THAT(reader.numbers<std::int64_t>(), ElementsAre(1, -2));
  EXPECT_NO_THROW(reader.finish());
}

TEST(Frame, BeginsWithItsSizeLittleEndian) {
  FrameWriter writer(7);
  writer.number(std::uint16_t{0x0102});
  EXPECT_EQ(writer.finish(), bytes_of(std::string("\3\0\0\0\7\2\1", 7)));
}

TEST(Frame, ListsMayBeEmpty) {
  FrameWriter writer(1);
  writer.numbers(std::span<const std::int32_t>());
  writer.number(std::uint32_t{0});
  const Frame frame = conducted::without_size(writer.finish());
  FrameReader reader(frame);
  reader.number<std::uint8_t>();
  EXPECT_THAT(reader.numbers<std::int32_t>(), IsEmpty());
  EXPECT_EQ(reader.number<std::uint32_t>(), 0U);
  EXPECT_NO_THROW(reader.finish());
}

TEST(Frame, ThatEndsTooEarlyIsAnError) {
  const Frame frame = bytes_of(std::string("\2\0\0\0a", 5));
  EXPECT_THROW(FrameReader(frame).number<std::uint64_t>(), ProtocolError);
  EXPECT_THROW(FrameReader(frame).text(), ProtocolError);
  EXPECT_THROW(FrameReader(frame).bytes(), ProtocolError);
  EXPECT_THROW(FrameReader(frame).numbers<std::uint8_t>(), ProtocolError);
  EXPECT_THROW(FrameReader({}).number<std::uint8_t>(), ProtocolError);
}

TEST(Frame, SaysHowManyBytesAreMissingOrTooMany) {
  const Frame frame = bytes_of("abcde");
  EXPECT_THAT([&] { FrameReader(frame).number<std::uint64_t>(); },
              testing::ThrowsMessage<ProtocolError>(
                  testing::AllOf(testing::HasSubstr("5 bytes"), testing::HasSubstr("3 bytes"))));
  FrameReader reader(frame);
  reader.number<std::uint32_t>();
  EXPECT_THAT([&] { reader.finish(); },
              testing::ThrowsMessage<ProtocolError>(
                  testing::AllOf(testing::HasSubstr("5 bytes"), testing::HasSubstr("1 bytes"))));
}

TEST(Frame, ALengthBeyondAllMemoryIsAnError) {
  const Frame frame = bytes_of(std::string("\xff\xff\xff\xff", 4));
  EXPECT_THROW(FrameReader(frame).numbers<std::uint64_t>(), ProtocolError);
}

TEST(Frame, MustBeReadToItsEnd) {
  const Frame frame = bytes_of("ab");
  FrameReader reader(frame);
  reader.number<std::uint8_t>();
  EXPECT_THROW(reader.finish(), ProtocolError);
}

}  // namespace
}  // namespace gang::harness
