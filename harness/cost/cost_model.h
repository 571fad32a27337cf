// What an operation costs: bytes, and time under a simple latency and bandwidth model.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "gang/operation_kind.h"

namespace gang::harness {

// What connects the ranks of an operation: whether all of them are in one node.
enum class Link : std::uint8_t { intra_node, inter_node };

std::string_view to_string(Link link) noexcept;  // "intra", "inter"

struct LinkSpeed {
  double latency_seconds = 0;
  double bytes_per_second = 1;

  friend bool operator==(const LinkSpeed&, const LinkSpeed&) = default;
};

// "3us:300GB/s": latency in ns, us, ms or s; bandwidth in KB/s, MB/s, GB/s or TB/s, powers of 1000.
// parse throws InvalidArgument with the text and the accepted form.
LinkSpeed parse_link_speed(std::string_view text);
std::string to_string(const LinkSpeed& speed);

// Nodes of `ranks_per_node` consecutive root ranks. A value. The defaults approximate NVLink within
// a node and one 400 Gbit/s adapter per rank between nodes.
struct CostModel {
  int ranks_per_node = 8;
  LinkSpeed intra_node = {3e-6, 300e9};
  LinkSpeed inter_node = {8e-6, 50e9};

  const LinkSpeed& speed(Link link) const noexcept {
    return link == Link::intra_node ? intra_node : inter_node;
  }
  int node_of(int root_rank) const noexcept { return root_rank / ranks_per_node; }
};

// An operation as the model sees it. `bytes` is what nccl-tests calls the size: the whole output of
// an all_gather, the whole input of a reduce_scatter, all parts of a gather or scatter, else the
// tensor; for a batch, what it sends or what it receives, whichever is more.
struct OperationCost {
  OperationKind kind = OperationKind::barrier;
  int size = 1;  // of the gang
  Link link = Link::intra_node;
  std::int64_t bytes = 0;
};

// nccl-tests' factor from bytes to bytes across the slowest link, for n ranks: all_reduce 2(n-1)/n;
// reduce_scatter, all_gather, all_to_all, gather, scatter (n-1)/n; all others 1 (scans are ours).
// Source: NVIDIA/nccl-tests, doc/PERFORMANCE.md.
double bus_factor(OperationKind kind, int size) noexcept;

// How many latencies an operation takes: all_reduce 2(n-1); reduce_scatter, all_gather, all_to_all,
// gather, scatter and scans n-1; broadcast, reduce log2 n rounded up; barrier twice that; messages
// 1; creating a gang 0, since training steps create none.
int latency_count(OperationKind kind, int size) noexcept;

// latency_count * latency + bus_factor * bytes / bandwidth; 0 on a gang of one.
double seconds_of(const OperationCost& operation, const CostModel& model) noexcept;

}  // namespace gang::harness
