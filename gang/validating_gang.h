// A gang that finds calls that do not match, on backends that would hang or end the process.
#pragma once

#include <cstdint>
#include <memory>

#include "gang/gang.h"
#include "gang/runtime.h"

namespace gang {

struct ValidatingGangOptions {
  enum class MissingRanks : std::uint8_t {
    unnamed,  // a rank that does not come is a timeout
    named,    // whose ranks_at_fault are all that are missing: another exchange, of every pair
  };

  std::shared_ptr<Runtime> runtime;  // a thread for started operations, and time
  MissingRanks missing_ranks = MissingRanks::unnamed;
};

// Wraps `inner`: before each collective operation its members exchange what they are about to do.
// Where two differ (operation, data type, number of elements, reduce operation, root, ranks of a
// new gang, split sizes, or the label where both give one), every member gets GangError mismatch,
// which names the odd ranks and what each side calls, and the gang is broken: nothing of the
// operation has been sent. Gangs made from it validate too.
//
// Messages, alone and in batches: where the sender and the receiver that meet by rank and tag
// differ in the data type, the number of elements, or the label where both give one, both get
// GangError mismatch, and the others GangError aborted. A message whose tag nobody receives is a
// timeout: another may still come. NotSupported for any_tag and tags from 2^30.
//
// Collective over the members of `inner`: makes a gang of the same members for the exchange.
// Cost of each operation: an all_gather of 64 bytes per rank (with split sizes, two further
// exchanges of 8 bytes per pair), and a thread of its own where it is started; with `named`, a
// monitored_barrier before. Cost of each message: 256 bytes each way beside it; its data goes at
// the same time, but to a receive from any rank goes after them. Errors: those of create_gang.
// Ownership: shares `inner`; closing and aborting it does the same to `inner`.
std::shared_ptr<Gang> make_validating_gang(std::shared_ptr<Gang> inner,
                                           const ValidatingGangOptions& options);

}  // namespace gang
