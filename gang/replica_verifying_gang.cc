#include "gang/replica_verifying_gang.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

#include "gang/forwarding_gang.h"
#include "gang/gang_cause.h"
#include "gang/hash.h"
#include "gang/rank_list.h"

namespace gang {
namespace {

bool leaves_replicas(OperationKind kind) noexcept {
  return kind == OperationKind::all_reduce || kind == OperationKind::all_gather ||
         kind == OperationKind::all_gather_to_list || kind == OperationKind::broadcast ||
         kind == OperationKind::broadcast_objects;
}

std::uint64_t checksum_of(const Operation& operation) {
  const auto hash = [](const Elements& tensor, std::uint64_t before) {
    return hash_bytes({tensor.data(), tensor.size_bytes()}, before);
  };
  std::uint64_t checksum = hash(operation.output, 0);
  for (const TensorView& output : operation.extras->outputs) checksum = hash(output, checksum);
  return operation.extras->packed == nullptr ? checksum
                                             : hash_bytes(*operation.extras->packed, checksum);
}

// The ranks whose checksum is not that of the majority; all ranks if there is no majority.
std::vector<int> odd_ranks(const std::vector<std::uint64_t>& checksums) {
  std::map<std::uint64_t, std::size_t> counts;
  for (const std::uint64_t checksum : checksums) ++counts[checksum];
  const auto most =
      std::ranges::max_element(counts, {}, [](const auto& entry) { return entry.second; });
  const bool is_majority = 2 * most->second > checksums.size();
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < checksums.size(); ++rank)
    if (!is_majority || checksums[rank] != most->first) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

class ReplicaVerifyingGang final : public ForwardingGang {
 public:
  using ForwardingGang::ForwardingGang;

 protected:
  Received do_run(Operation& operation) override {
    const Received received = ForwardingGang::do_run(operation);
    if (leaves_replicas(operation.collective.kind) && size() > 1) verify(operation);
    return received;
  }

  std::shared_ptr<Gang> wrap(std::shared_ptr<Gang> child) override {
    return make_replica_verifying_gang(std::move(child));
  }

 private:
  void verify(const Operation& operation) {
    std::uint64_t own = checksum_of(operation);
    std::vector<std::uint64_t> all(static_cast<std::size_t>(size()));
    inner().all_gather(view(all), TensorView(&own, DataType::u64, Shape::vector(1)),
                       {.timeout = operation.timeout});
    if (std::ranges::adjacent_find(all, std::not_equal_to{}) == all.end()) return;
    GangCause cause{.kind = GangErrorKind::corrupt, .ranks_at_fault = odd_ranks(all)};
    cause.reason =
        "the results differ: " + ranks_text(cause.ranks_at_fault) +
        (2 * cause.ranks_at_fault.size() < all.size() ? " got different data from the rest"
                                                      : " got different data, with no majority");
    inner().abort();
    throw error_for(info(), rank(), operation.collective, std::move(cause));
  }
};

}  // namespace

std::shared_ptr<Gang> make_replica_verifying_gang(std::shared_ptr<Gang> inner) {
  return std::make_shared<ReplicaVerifyingGang>(std::move(inner));
}

}  // namespace gang
