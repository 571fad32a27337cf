#include "gang/replica_verifying_gang.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "gang/forwarding_gang.h"

namespace gang {
namespace {

// FNV-1a over bytes. Source: Fowler, Noll and Vo's 64-bit offset basis and prime.
class Checksum {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    for (const std::byte byte : bytes)
      value_ = (value_ ^ std::to_integer<std::uint64_t>(byte)) * 0x100000001b3;
  }
  void add(const TensorView& tensor) noexcept { add({tensor.data(), tensor.size_bytes()}); }
  std::uint64_t value() const noexcept { return value_; }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

bool leaves_replicas(OperationKind kind) noexcept {
  return kind == OperationKind::all_reduce || kind == OperationKind::all_gather ||
         kind == OperationKind::all_gather_to_list || kind == OperationKind::broadcast ||
         kind == OperationKind::broadcast_objects;
}

std::uint64_t checksum_of(const Operation& operation) {
  Checksum checksum;
  checksum.add(operation.output);
  for (const TensorView& output : operation.outputs) checksum.add(output);
  if (operation.packed != nullptr) checksum.add(std::span<const std::byte>(*operation.packed));
  return checksum.value();
}

// Those who have another checksum than more than half; all, where there is no such.
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

std::string list_of(const std::vector<int>& ranks) {
  constexpr std::size_t most_named = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(most_named, ranks.size()); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  return ranks.size() > most_named ? text + ", ..." : text;
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
    GangFailure failure;
    failure.kind = GangErrorKind::corrupt;
    failure.gang = label_of(info());
    failure.rank = rank();
    failure.operation = operation.collective;
    failure.ranks_at_fault = odd_ranks(all);
    failure.reason = "the results differ: " + list_of(failure.ranks_at_fault) +
                     (2 * failure.ranks_at_fault.size() < all.size()
                          ? " got other data than the rest"
                          : " got different data, and no majority the same");
    inner().abort();
    throw GangError(std::move(failure));
  }
};

}  // namespace

std::shared_ptr<Gang> make_replica_verifying_gang(std::shared_ptr<Gang> inner) {
  return std::make_shared<ReplicaVerifyingGang>(std::move(inner));
}

}  // namespace gang
