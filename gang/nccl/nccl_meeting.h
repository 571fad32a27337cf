// How the members of an NCCL gang talk outside NCCL: over a store, or in a simulated world.
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

// One meeting of all members of a gang. `key` is never that of another meeting.
struct NcclAppointment {
  std::string key;
  std::string gang_key;  // of the gang whose members meet
  int rank = 0;
  int size = 1;
  std::span<const int> root_ranks = {};  // of the members
  TimePoint deadline = TimePoint::max();
  const NcclPurpose* purpose = nullptr;
  std::span<const int> gone = {};  // members not to wait for

  // What the deadline means in a simulated world: a timeout like that of operations, or a time that
  // is sure to come.
  enum class End : std::uint8_t { is_timeout, is_sure };
  End end = End::is_timeout;
};

// Used before there is a communicator, and when NCCL does not say what went wrong.
// Threads: any.
class NcclMeeting {
 public:
  virtual ~NcclMeeting() = default;

  // Every member says `own` and gets what each member said, by rank; none for members that have not
  // arrived. Blocks until all have arrived, until the deadline, or until there is a note for the
  // gang. Throws StoreError if the members can no longer meet.
  virtual std::vector<std::optional<std::string>> meet(const NcclAppointment& appointment,
                                                       std::string_view own) = 0;

  // What the first member to call this has proposed under `key`.
  virtual std::string decide(const std::string& key, std::string_view proposal) = 0;

  // Leaves a note for the members of a gang, which their waits notice, unless there is one already
  // or it is impossible. Does not wait for other members.
  virtual void leave_note(const std::string& gang_key, std::string_view text) noexcept = 0;

  // The note that a member has left; none if there is none, or if it cannot be read.
  virtual std::optional<std::string> find_note(const std::string& gang_key) noexcept = 0;
};

}  // namespace gang
