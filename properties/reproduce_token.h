// The text that repeats one shrunk case.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gang::properties {

// Where a case is in the search: the seed and the number of the case say what was generated, the
// path says which simpler variant each shrink took. A value; prints and parses.
struct ReproduceToken {
  std::uint64_t seed = 0;
  std::uint64_t case_number = 1;  // from 1
  int size = 0;                   // RapidCheck's size; the index of an enumerated case
  int max_world = 1;
  std::vector<std::size_t> shrink_path;

  friend bool operator==(const ReproduceToken&, const ReproduceToken&) = default;
};

// "1-37-36-16-0.2.1": seed, case, size, largest world, path ("0" repeated three times: "0x3").
std::string to_string(const ReproduceToken& token);

// Throws InvalidArgument that says which part is wrong and what is expected.
ReproduceToken parse_reproduce_token(std::string_view text);

}  // namespace gang::properties
