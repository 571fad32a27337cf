// One rank standing in for a whole gang.
#pragma once

#include "gang/gang.h"

namespace gang {

struct FakeGangOptions {
  int rank = 0;
  int size = 1;
  Device device = {};
  std::string name = "root";
  Duration timeout = default_timeout;
};

// One rank standing in for `size` ranks that all hold this rank's data: sum multiplies by size,
// product raises to the power of size, min, max, mean, bitwise and/or, broadcast and barrier leave
// the data unchanged (xor gives zero if size is even), gathers replicate, reduce_scatter and
// scatter pick this rank's chunk. Values are exactly those of a simulated gang whose ranks hold
// equal data, including rounding and wrap-around, so a mean may differ from the data.
//
// In a split, every rank has this rank's color and key. Sends, receives, and scatters from another
// rank, whose inputs are nowhere, are NotSupported. Everything completes at once. shrink excludes
// no rank, since imaginary members are never gone.
//
// Throws InvalidArgument unless size >= 1 and 0 <= rank < size.
std::shared_ptr<Gang> make_fake_gang(const FakeGangOptions& options = {});

}  // namespace gang
