// The gangs that a process uses, and how late it was for their collectives.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>

#include "gang/gang.h"
#include "harness/conductor/long_waits.h"

namespace gang::harness {

// A call of the process on one of them.
struct GangCall {
  std::shared_ptr<Gang> gang;
  std::optional<Duration> timeout = {};  // none: the gang's
  std::uint64_t number = 0;              // of a collective, among the process's on the gang, from 0
};

// One process's. Threads: that of the conductor.
class JoinedGangs {
 public:
  // `group` is the client's number for it.
  void join(std::uint32_t group, std::shared_ptr<Gang> gang);
  void leave(std::uint32_t group) { gangs_.erase(group); }
  void leave_all() noexcept { gangs_.clear(); }

  // Of this process's calls on `group`, instead of the gang's.
  void set_timeout(std::uint32_t group, Duration timeout);

  // All that take a group throw ProtocolError if there is none.
  const std::shared_ptr<Gang>& gang(std::uint32_t group) { return joined(group).gang; }

  void abort_all() const;
  void close_all() const;

  // The process has made a call. Before it, it was outside of calls.
  void note_outside(const TimeOutside& outside);

  // The process calls on `group`: on what, and the collective's number.
  GangCall begin_call(std::uint32_t group, OperationKind kind);

  // The last time that the process was outside of calls for a second or longer, if it called
  // collective `number` on that gang only after it. Null if not, or if two gangs have that name.
  const TimeOutside* absence_before(const GangInfo& info, std::uint64_t number) const;

 private:
  struct Joined {
    std::shared_ptr<Gang> gang;
    std::optional<Duration> timeout;
    std::uint64_t collectives = 0;  // called so far
    std::uint64_t absences = 0;     // of the process, before the last of them
    std::uint64_t first_after = 0;  // the first collective after the last absence
  };

  Joined& joined(std::uint32_t group);

  std::map<std::uint32_t, Joined> gangs_;
  std::uint64_t absences_ = 0;
  TimeOutside last_absence_;
};

}  // namespace gang::harness
