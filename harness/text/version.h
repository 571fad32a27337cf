// The version of gangsim.
#pragma once

#include <string_view>

namespace gang::harness {

// "0.1.0": of the project in CMakeLists.txt. Defined in the build tree.
std::string_view version() noexcept;

}  // namespace gang::harness
