// Counts the operations of a program's gangs, on any backend.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gang/gang.h"
#include "harness/cost/cost_model.h"
#include "harness/program.h"

namespace gang::harness {

// Operations of one kind that one rank has called on its gangs of one name and size.
struct OperationCount {
  std::string gang;  // "tp"
  int size = 1;
  Link link = Link::intra_node;
  OperationKind kind = OperationKind::barrier;
  std::uint64_t calls = 0;
  std::int64_t bytes = 0;  // as of OperationCost
  double seconds = 0;

  friend bool operator==(const OperationCount&, const OperationCount&) = default;
};

// What all ranks of a run have called, by rank; of each rank ordered by gang, size, link and kind.
using RankCounts = std::vector<std::vector<OperationCount>>;

// Collects the counts of a run. Threads: any.
class CostAccounts {
 public:
  CostAccounts(int world_size, const CostModel& model);

  // Operations on `gang`, and on gangs made from it, of rank `rank` of the root; what was counted
  // for that rank before is forgotten: its program starts (again).
  std::shared_ptr<Gang> count(std::shared_ptr<Gang> gang, int rank);

  // What has been called; no gang is in use.
  RankCounts take();

  const CostModel& model() const noexcept { return model_; }

  // Where one gang's operations are counted. Threads: as the gang.
  struct Account {
    const CostModel* model = nullptr;
    std::vector<OperationCount> counts;
  };

  // A further account of `rank`, valid as long as this object is.
  Account& open(int rank);

 private:
  CostModel model_;
  std::mutex mutex_;
  std::vector<std::vector<std::unique_ptr<Account>>> by_rank_;
};

// `program` with all of its gangs counted in `accounts`, which every copy shares.
Program counted(Program program, std::shared_ptr<CostAccounts> accounts);

}  // namespace gang::harness
