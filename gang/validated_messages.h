// Messages whose two sides tell each other what they are about to send and to receive.
#pragma once

#include <memory>

#include "gang/ending_work.h"
#include "gang/error.h"
#include "gang/gang.h"
#include "gang/operation.h"

namespace gang {

// The gang whose messages are validated. Outlives what is started on it.
class ValidatedGang {
 public:
  virtual ~ValidatedGang() = default;

  // Another gang of the same members, for what they tell each other.
  virtual Gang& side() noexcept = 0;

  // Starts sends and receives without validating them.
  virtual Work forward(Operation& operation) = 0;

  // Breaks both gangs; the error that says why.
  virtual GangError break_with(const Collective& call, TimePoint began, GangFailure failure) = 0;
};

// The highest tag of a validated message; each has two of the side gang's.
inline constexpr int highest_validated_tag = (1 << 30) - 1;

// Starts a send, a receive or a batch. Beside each message go two others of 256 bytes, one each
// way, that say what its sides call; data goes at the same time, but to a receive from any rank,
// which first learns from whom it receives (on a thread of its own, where nobody waits). Where the
// two differ in the data type, the number of elements, or the label where both give one, both get
// GangError mismatch when they wait. NotSupported for any_tag and tags above the highest, with
// nothing sent.
//
// `keep` is whatever keeps `gang` alive. Threads: one at a time.
Work start_validated_messages(ValidatedGang& gang, std::shared_ptr<void> keep,
                              const std::shared_ptr<CompletionBoard>& board,
                              const Operation& operation);

}  // namespace gang
