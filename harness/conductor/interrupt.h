// Ctrl-C, as a wish to know where the processes are.
#pragma once

#include <signal.h>

#include <atomic>

namespace gang::harness {

// While one lives, the first interrupt of this process is noted; a second one ends the process.
class Interrupt {
 public:
  Interrupt() noexcept;
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Whether an interrupt has come while one lived.
  static const std::atomic<bool>& has_come() noexcept;

 private:
  struct sigaction former_{};
};

}  // namespace gang::harness
