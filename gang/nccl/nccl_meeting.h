// How the members of an NCCL gang talk outside of NCCL: over a store, or in a simulated world.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "gang/nccl/nccl_api.h"

namespace gang {

// One meeting of all members of a gang. `key` is no other meeting's, ever.
struct NcclAppointment {
  std::string key;
  std::string gang_key;  // of the gang whose members meet
  int rank = 0;
  int size = 1;
  std::span<const int> root_ranks = {};  // of the members
  TimePoint deadline = TimePoint::max();
  const NcclPurpose* purpose = nullptr;
  std::span<const int> gone = {};  // members that nobody waits for

  // What the deadline is in a simulated world: a timeout like that of operations, or a time that
  // comes in any case.
  enum class End : std::uint8_t { is_timeout, is_sure };
  End end = End::is_timeout;
};

// Before there is a communicator, and where NCCL does not tell what went wrong.
// Threads: any.
class NcclMeeting {
 public:
  virtual ~NcclMeeting() = default;

  // Every member says `own` and gets what each has said, by rank; none of those who have not come
  // by the deadline. Blocks until all have come, until then, or until there is a note for the gang.
  // Throws StoreError where the members have no way to meet any more.
  virtual std::vector<std::optional<std::string>> meet(const NcclAppointment& appointment,
                                                       std::string_view own) = 0;

  // What the first member who asked has proposed under `key`.
  virtual std::string decide(const std::string& key, std::string_view proposal) = 0;

  // Leaves a note for the members of a gang, unless there is one; none is left if that is
  // impossible. Their waits look. Does not wait for anyone.
  virtual void leave_note(const std::string& gang_key, std::string_view text) noexcept = 0;

  // The note that some member has left.
  virtual std::optional<std::string> find_note(const std::string& gang_key) noexcept = 0;
};

}  // namespace gang
