// A signal that asks a process for its dumps.
#pragma once

#include <cstddef>

namespace gang {

// As long as one of these lives, SIGUSR1 no longer ends the process, but makes `descriptor` of each
// of them readable, also while all threads of the program are stuck. The last one restores what the
// signal did before. A resource.
//
// Throws InvalidOperation if the system has no more descriptors, or if there are `most` already.
class DumpSignal {
 public:
  DumpSignal();
  ~DumpSignal();
  DumpSignal(const DumpSignal&) = delete;
  DumpSignal& operator=(const DumpSignal&) = delete;

  // An eventfd.
  int descriptor() const noexcept { return descriptor_; }

  // Makes it readable, as the signal does.
  void raise() const noexcept;

  static constexpr std::size_t most = 64;

 private:
  int descriptor_ = -1;
  std::size_t place_ = 0;
};

}  // namespace gang
