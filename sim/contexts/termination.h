// Code that a run carries, and that would end the process: std::terminate, std::exit.
#pragma once

#include <cstdint>

namespace gang::sim {

enum class Termination : std::uint8_t { by_terminate, by_exit };

// Takes over where the process would end.
class TerminationTarget {
 public:
  virtual ~TerminationTarget() = default;

  // Whether the calling code is of a kind that the target can go on without.
  virtual bool carries_caller() const noexcept = 0;

  // The caller is ending the process. Goes on without it: never returns.
  [[noreturn]] virtual void terminated(Termination how) noexcept = 0;
};

// Of the calling thread; null outside of every TerminationScope.
// Every call to a gang reads it, so it takes some of the room that a process keeps for variables
// that are found without a call: also where gangsim is part of a shared library.
extern constinit thread_local TerminationTarget* termination_target
    [[gnu::tls_model("initial-exec")]];

// While it lives, a std::terminate or std::exit on the calling OS thread goes to `target`, as far
// as that carries its caller. Installs a terminate handler for the process, which passes everything
// else on to the former one.
class TerminationScope {
 public:
  explicit TerminationScope(TerminationTarget& target) noexcept;
  ~TerminationScope() { termination_target = outer_; }
  TerminationScope(const TerminationScope&) = delete;
  TerminationScope& operator=(const TerminationScope&) = delete;

 private:
  TerminationTarget* outer_;
};

// std::exit destroys objects of its thread, the youngest first, until a target takes over. Where
// there is one, all thread_local objects of the calling thread that exist now survive.
void keep_at_exit() noexcept;

}  // namespace gang::sim
