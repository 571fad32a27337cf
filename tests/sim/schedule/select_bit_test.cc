#include "sim/schedule/select_bit.h"

#include <bit>
#include <vector>

#include <gtest/gtest.h>

#include "sim/schedule/random_stream.h"

namespace gang::sim {
namespace {

// Places of the ones, lowest first, one by one.
std::vector<int> places_of_ones(std::uint64_t bits) {
  std::vector<int> places;
  for (int place = 0; place < 64; ++place)
    if ((bits >> place & 1) != 0) places.push_back(place);
  return places;
}

void expect_each_is_found(std::uint64_t bits) {
  std::size_t index = 0;
  for (const int place : places_of_ones(bits)) {
    EXPECT_EQ(select_bit(bits, index), place) << std::hex << bits << " " << index;
    EXPECT_EQ(select_bit_by_loop(bits, index), place) << std::hex << bits << " " << index;
    ++index;
  }
}

TEST(SelectBit, FindsEachOneOfAWord) {
  for (const std::uint64_t bits : {std::uint64_t{1}, std::uint64_t{1} << 63, ~std::uint64_t{0},
                                   std::uint64_t{0x8000'0001'0000'0001}})
    expect_each_is_found(bits);
  RandomStream draws(7, "bits");
  for (int i = 0; i < 200; ++i) expect_each_is_found(draws() & draws());
}

}  // namespace
}  // namespace gang::sim
