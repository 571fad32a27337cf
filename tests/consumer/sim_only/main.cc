#include <gangsim/gang.h>
#include <gangsim/sim.h>

#ifdef EIGEN_CORE_H
#error "the headers of gang and sim include Eigen"
#endif
#ifdef FMT_VERSION
#error "the headers of gang and sim include fmt"
#endif
#if defined(INCLUDE_NLOHMANN_JSON_HPP_) || defined(INCLUDE_NLOHMANN_JSON_FWD_HPP_)
#error "the headers of gang and sim include nlohmann's JSON"
#endif

// Ends with 0 if four ranks meet, and a rank that stays away is found.
int main() {
  const gang::sim::Report meets =
      gang::sim::Simulation({.world_size = 4}).run([](gang::sim::SimulatedRank& rank) {
        rank.root()->barrier();
      });
  const gang::sim::Report hangs =
      gang::sim::Simulation({.world_size = 4}).run([](gang::sim::SimulatedRank& rank) {
        if (rank.rank() != 2) rank.root()->barrier();
      });
  const bool is_right = meets.holds() && hangs.outcome == gang::sim::Outcome::deadlock &&
                        hangs.findings.front().id == "participant_missing";
  return is_right ? 0 : 1;
}
