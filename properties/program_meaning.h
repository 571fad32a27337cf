// What a random program must do.
#pragma once

#include "properties/program_memory.h"

namespace gang::properties {

// The image after the program has run, computed with the reference model, step after step.
Image expected_image(const ProgramMemory& memory);

}  // namespace gang::properties
