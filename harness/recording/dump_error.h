// What is wrong with a dump.
#pragma once

#include "gang/error.h"

namespace gang::harness {

// The file ends before its values do. What it was to say is unknown; everything else about the job
// may be known from the dumps of other ranks.
class CutOffDump : public InvalidArgument {
 public:
  using InvalidArgument::InvalidArgument;
};

}  // namespace gang::harness
