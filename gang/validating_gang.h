// A gang that finds mismatched calls, on backends where these would hang or end the process.
#pragma once

#include <cstdint>
#include <memory>

#include "gang/gang.h"
#include "gang/runtime.h"

namespace gang {

struct ValidatingGangOptions {
  enum class MissingRanks : std::uint8_t {
    unnamed,  // a rank that does not arrive is a timeout
    named,    // its ranks_at_fault are all missing ranks; costs another exchange between all pairs
  };

  std::shared_ptr<Runtime> runtime;  // a thread for started operations, and time
  MissingRanks missing_ranks = MissingRanks::unnamed;
};

// Wraps `inner`: before each collective operation, its members exchange what they are about to do.
// If two differ (in operation, data type, number of elements, reduce operation, root, ranks of a
// new gang, split sizes, or label where both give one), every member gets GangError mismatch, which
// names the odd ranks and what each side calls, and the gang is broken; nothing of the operation
// has been sent. Gangs made from it validate too.
//
// Messages, alone and in batches: if a sender and a receiver that match by rank and tag differ in
// data type, number of elements, or label where both give one, both get GangError mismatch, and the
// other members GangError aborted. A message whose tag no rank receives is a timeout, since a
// receive may still come. NotSupported for any_tag and for tags of 2^30 and above.
//
// Collective over the members of `inner`: makes a gang of the same members for the exchange.
// Cost of each operation: an all_gather of 64 bytes per rank (with split sizes, two more exchanges
// of 8 bytes per pair), and a thread of its own if it is started; with `named`, a monitored_barrier
// first. Cost of each message: 256 more bytes in each direction; its data is sent at the same time,
// but to a receive from any rank only afterwards. Errors: those of create_gang.
// Ownership: shares `inner`; closing or aborting this gang does the same to `inner`.
std::shared_ptr<Gang> make_validating_gang(std::shared_ptr<Gang> inner,
                                           const ValidatingGangOptions& options);

}  // namespace gang
