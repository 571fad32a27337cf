// A message of a transport that a context waits for.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gang/collective.h"

namespace gang {
struct GangInfo;
}  // namespace gang

namespace gang::sim {

// How a wait for one has ended: by its timeout, or before; or in the instant of that, where it may
// end in either way.
enum class Awaited : std::uint8_t { in_time, in_last_instant, too_late };

// A message that blocks a context, for backends whose messages the engine does not carry. Queried
// only when a run cannot continue.
class AwaitedMessage {
 public:
  virtual ~AwaitedMessage() = default;

  // Root ranks that could end the wait, ascending.
  virtual std::vector<int> awaited_ranks() const = 0;

  // Whether any one of them suffices.
  virtual bool takes_any() const = 0;

  // The program's call that the message belongs to, and its gang; null if not known.
  virtual const Collective* call() const = 0;
  virtual const GangInfo* gang() const = 0;

  virtual std::string describe() const = 0;  // "receive of all_reduce"

  // Where the program waits.
  virtual CallSite call_site() const { return call() == nullptr ? CallSite{} : call()->call_site; }
};

}  // namespace gang::sim
