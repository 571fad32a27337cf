// Ctrl-C, as a wish to know where the processes are.
#pragma once

#include <signal.h>

#include <atomic>
#include <stdexcept>
#include <string>

namespace gang::harness {

// An interrupt has ended a wait: what() is what was waited for, "the imports of train.py".
class Interrupted : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// While one lives, the first interrupt of this process is noted; a second one ends the process.
class Interrupt {
 public:
  Interrupt() noexcept;
  ~Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;

  // Whether an interrupt has come while one lived.
  static const std::atomic<bool>& has_come() noexcept;

  // Throws Interrupted if one has. For loops that wait where no rank can tell where it is yet.
  static void check(const std::string& waited_for);

 private:
  struct sigaction former_{};
};

}  // namespace gang::harness
