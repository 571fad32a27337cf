// Messages whose two sides first tell each other what they are about to send and receive.
#pragma once

#include <memory>

#include "gang/ending_work.h"
#include "gang/error.h"
#include "gang/gang.h"
#include "gang/operation.h"

namespace gang {

// The gang whose messages are validated. Outlives the works started on it.
class ValidatedGang {
 public:
  virtual ~ValidatedGang() = default;

  // A second gang of the same members, for the announcements.
  virtual Gang& side() noexcept = 0;

  // Starts sends and receives without validating them.
  virtual Work forward(Operation& operation) = 0;

  // Breaks both gangs and returns the error that says why.
  virtual GangError break_with(const Collective& call, TimePoint began, GangFailure failure) = 0;
};

// The highest tag of a validated message, since each tag takes two tags of the side gang.
inline constexpr int highest_validated_tag = (1 << 30) - 1;

// Starts a send, a receive or a batch. Each message is accompanied by two announcements of 256
// bytes, one in each direction, that say what its sides call. Data is sent at the same time, except
// to a receive from any rank, which first learns its source (on a thread of its own if no thread
// waits). If the two sides differ in data type, number of elements or label (where both give one),
// both get GangError mismatch when they wait. NotSupported for any_tag and for tags above the
// highest; nothing is sent then.
//
// `keep` keeps `gang` alive. Threads: one at a time.
Work start_validated_messages(ValidatedGang& gang, std::shared_ptr<void> keep,
                              const std::shared_ptr<CompletionBoard>& board,
                              const Operation& operation);

}  // namespace gang
