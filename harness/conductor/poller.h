// Waits for many descriptors at once.
#pragma once

#include <functional>
#include <map>
#include <memory>

#include "gang/duration.h"
#include "harness/conductor/descriptor.h"

namespace gang::harness {

class Poller {
 public:
  // Throws std::system_error if the system has none left.
  Poller();

  // Calls `on_event` whenever `descriptor` is readable or its peer is gone, until remove. The
  // descriptor must stay open until then.
  void add(int descriptor, std::function<void()> on_event);
  void remove(int descriptor) noexcept;

  // Whether to call it when `descriptor` can be written to, too.
  void watch_writes(int descriptor, bool watches) noexcept;

  // Waits for at most `timeout`, then calls what there is to call. Returns whether there was
  // something.
  bool poll(Duration timeout);

 private:
  Descriptor epoll_;
  std::map<int, std::shared_ptr<const std::function<void()>>> handlers_;
};

}  // namespace gang::harness
