// What the processes of ranks print.
#pragma once

#include <iosfwd>
#include <map>
#include <memory>
#include <string>

#include "harness/conductor/poller.h"
#include "harness/program/rank_log.h"

namespace gang::harness {

// Reads what ranks print and passes on, line by line and prefixed ("[3] loss 0.25"), what the
// selected ones do.
class RankOutput {
 public:
  // All are borrowed.
  RankOutput(Poller& poller, RankSelection ranks, std::ostream& out, std::ostream& err);
  ~RankOutput();
  RankOutput(const RankOutput&) = delete;
  RankOutput& operator=(const RankOutput&) = delete;

  // The ends into which a new process of the rank writes.
  struct Pipes {
    Descriptor out;
    Descriptor err;
  };
  Pipes open(int rank);

  // What ranks have printed until now is passed on, but nothing that they print from now on; until
  // resume.
  void silence();
  void resume() noexcept { is_silent_ = false; }

 private:
  struct Stream {
    int rank;
    std::ostream& to;
    Descriptor from;
    std::string line;  // begun
  };

  Descriptor open(int rank, std::ostream& to);
  void read(int descriptor);
  void print_begun(Stream& stream);
  void print(const Stream& stream, std::string_view line);

  Poller& poller_;
  RankSelection ranks_;
  std::ostream& out_;
  std::ostream& err_;
  bool is_silent_ = false;
  std::map<int, Stream> streams_;  // by descriptor
};

}  // namespace gang::harness
