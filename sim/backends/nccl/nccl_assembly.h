// Assembles the members of new simulated communicators.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gang/nccl/nccl_api.h"
#include "sim/backends/nccl/nccl_clique.h"
#include "sim/backends/nccl/nccl_steps.h"

namespace gang::sim {

// Collects a color and a key from every expected rank, then creates one clique per color.
//
// Threads: under the engine's Guard.
class NcclAssembly {
 public:
  // `expected`: root ranks, indexed by place.
  NcclAssembly(World& world, std::string name, std::vector<int> expected)
      : world_(world),
        name_(std::move(name)),
        key_(meeting_key(name_)),
        root_ranks_(std::move(expected)),
        come_(root_ranks_.size()) {}

  void join(int place, const NcclSplit& split);

  // What a Guide knows it by.
  StepKey key() const noexcept { return key_; }

  bool is_complete() const noexcept { return joined_ == root_ranks_.size(); }
  const std::vector<int>& root_ranks() const noexcept { return root_ranks_; }

  // The root ranks that have not arrived.
  std::vector<int> missing() const;

  // Valid once the assembly is complete.
  struct Seat {
    std::shared_ptr<NcclClique> clique;  // null without a color
    int member = 0;
  };
  Seat seat_of(int place) const;

 private:
  void form();

  World& world_;
  const std::string name_;
  const StepKey key_;
  std::vector<int> root_ranks_;
  std::vector<std::optional<NcclSplit>> come_;
  std::size_t joined_ = 0;
  std::vector<Seat> seats_;
};

}  // namespace gang::sim
