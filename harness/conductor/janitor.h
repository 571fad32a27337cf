// Cleans up after this process, should it end without doing so itself.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>

#include "harness/conductor/descriptor.h"

namespace gang::harness {

// A process that waits for the end of this one, however that comes: a signal that cannot be
// caught, too. Then it kills the processes that it knows, and those with `mark` in their
// environment (offspring.h), and removes `remains`, a file or a folder.
// Does nothing of that once its owner is gone.
class Janitor {
 public:
  // Throws std::system_error if there can be no further process.
  explicit Janitor(const std::filesystem::path& remains, const std::string& mark = "");
  ~Janitor();
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  // A process that it is to kill, of at most 4096; > 0.
  void add(pid_t process) const noexcept { tell(process); }
  // That process has ended.
  void remove(pid_t process) const noexcept { tell(-process); }

 private:
  void tell(pid_t what) const noexcept;

  Descriptor socket_;
  pid_t process_ = 0;
};

}  // namespace gang::harness
