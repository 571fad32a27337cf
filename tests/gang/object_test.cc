#include "gang/object.h"

#include <limits>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "gang/error.h"
#include "gang/message_pack.h"

namespace gang {
namespace {

TEST(Object, EveryKindOfValueComesBackEqual) {
  const std::vector<Object> objects = {
      nullptr,
      true,
      false,
      0,
      -1,
      std::numeric_limits<std::int64_t>::min(),
      std::numeric_limits<std::uint64_t>::max(),
      0.1,
      -1.5e300,
      std::numeric_limits<double>::infinity(),
      "",
      "gänge",
      Object::binary({0, 255, 7}),
      Object::array(),
      Object::array({1, "two", nullptr}),
      Object::object(),
      Object{{"step", 3}, {"nested", {{"list", {1, 2, 3}}}}},
  };
  EXPECT_EQ(unpack_objects(pack_objects(objects)), objects);
}

TEST(Object, NoObjectsAreAListToo) {
  EXPECT_TRUE(unpack_objects(pack_objects({})).empty());
  EXPECT_FALSE(pack_objects({}).empty()) << "an empty list takes a byte";
}

TEST(Object, BytesThatAreNotAListAreRefused) {
  const auto bytes_of = [](const Object& object) {
    const std::vector<std::uint8_t> packed = Object::to_msgpack(object);
    const auto* first = reinterpret_cast<const std::byte*>(packed.data());
    return std::vector<std::byte>(first, first + packed.size());
  };
  EXPECT_THROW(unpack_objects({}), InvalidArgument);
  EXPECT_THROW(unpack_objects(bytes_of("text")), InvalidArgument);
  EXPECT_THROW(unpack_objects(bytes_of({{"a", 1}})), InvalidArgument);
}

// A rank that sends them must not end the others.
TEST(Object, ListsThatAreNestedTooDeeplyAreRefused) {
  EXPECT_THROW(unpack_objects(std::vector(1'000'000, std::byte{0x91})), InvalidArgument);
  Object nested = 1;
  for (int i = 1; i < deepest_nesting; ++i) nested = Object::array({nested});
  const std::vector<Object> objects = {nested};
  EXPECT_EQ(unpack_objects(pack_objects(objects)), objects);
}

TEST(Object, DamagedBytesAreRefused) {
  const std::vector<Object> objects = {"some text", 12345678};
  std::vector<std::byte> truncated = pack_objects(objects);
  truncated.pop_back();
  EXPECT_THROW(unpack_objects(truncated), InvalidArgument);
  std::vector<std::byte> longer = pack_objects(objects);
  longer.push_back(std::byte{0});
  EXPECT_THROW(unpack_objects(longer), InvalidArgument);
}

}  // namespace
}  // namespace gang
