// Runs that decide one choice of a run otherwise.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "sim/further_runs/settled_run.h"
#include "sim/schedule/reduction.h"

namespace gang::sim {

// A first run with a guide, and its neighbours: each goes the same way up to one contest, decides
// that in the other way, and goes on by itself.
class NeighbouringRuns {
 public:
  // Makes the first run. `again` outlives this. can_be_guided(options) holds.
  NeighbouringRuns(const SimulationOptions& options, const RunAgain& again);

  const Report& first() const noexcept { return first_; }

  // Of the first run; none: it is too long, or a Guide is not told of all that could come
  // otherwise.
  std::optional<std::uint64_t> contests() const noexcept { return contests_; }

  // Some of those, as the first run decides them: the first ones of a short run, the last ones of a
  // long one.
  static constexpr std::size_t most_listed = 16;
  const std::vector<Contest>& listed() const noexcept { return listed_; }

  // One of its neighbours.
  struct Neighbour {
    Report report;
    Contest contest;  // as the first run decides it
  };

  // The next neighbour that decides a contest which `wants` accepts; none: there are no more, or
  // enough have been made: `most_neighbours`, or fewer of a run of many steps of many contexts. Of
  // the contests that are kept the first come first: all but of a long run, of which the last ones.
  static constexpr std::size_t most_neighbours = 16;
  std::optional<Neighbour> next(const std::function<bool(const Contest&)>& wants);

 private:
  struct Branch {
    Beginning beginning;
    Contest contest;
  };

  void find_branches();
  std::optional<Report> run(Beginning beginning);

  SimulationOptions options_;
  const RunAgain& again_;
  Reduction reduction_;
  Report first_;
  std::optional<std::uint64_t> contests_;
  std::vector<Contest> listed_;
  std::vector<Branch> branches_;  // the next one last
  std::size_t left_ = 0;          // neighbours that may be made
};

}  // namespace gang::sim
