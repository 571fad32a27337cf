// Gangs on which calls move hardly any data.
#pragma once

#include <cstdint>
#include <memory>

#include "gang/gang.h"

namespace gang::harness::program_file {

// unknown: the sizes of sends and receives are not compared. A batch has no sizes without data, and
// what it meets may be no batch.
enum class MessageSizes : std::uint8_t { checked, unknown };

// `root`, whose calls and those of the gangs made from it reach the simulator as described, but
// with one element for each tensor or chunk of one; all_to_all has even chunks. Gangs that decorate
// `root` still decorate the result, and see the tensors. Other backends than sim take a call's size
// from its tensors: their gangs are returned as they are.
std::shared_ptr<Gang> without_data(const std::shared_ptr<Gang>& root, MessageSizes messages);

}  // namespace gang::harness::program_file
