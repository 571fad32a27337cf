// What the processes of a run have started, and left behind.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>

namespace gang::harness {

// Kills every process that has `mark` ("NAME=value") in its environment, and those that it starts
// meanwhile. Nothing for an empty mark.
void kill_marked(const std::string& mark) noexcept;

// While one lives, this process adopts what its descendants leave behind. At its end it kills all
// that is left: processes with the mark in their environment, and further children of this process
// than it had at the beginning.
class Offspring {
 public:
  explicit Offspring(std::string mark);
  ~Offspring();
  Offspring(const Offspring&) = delete;
  Offspring& operator=(const Offspring&) = delete;

 private:
  bool kill_adopted() const noexcept;

  std::string mark_;
  int was_reaper_ = 0;
  std::set<pid_t> known_;
};

}  // namespace gang::harness
