// Gloo's collectives, as the operations of a gang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <gloo/context.h>
#include <gloo/transport/unbound_buffer.h>

#include "gang/operation.h"

namespace gang {

// The tag of Gloo's messages, which distinguishes operations that do not match, so that they never
// exchange data. Covers what all members must agree on, and the sequence number modulo 256.
std::uint32_t tag_of(const Collective& collective) noexcept;

// Performs operations on a context of at least two members, by Gloo's algorithms where these do
// what gang/gang.h promises. Every method blocks, and throws what Gloo throws. An operation without
// elements is a barrier, so that it matches and orders like any other.
// Threads: one at a time.
class GlooCollectives {
 public:
  explicit GlooCollectives(std::shared_ptr<gloo::Context> context);

  // Everything but group creation, monitored barriers, objects and messages.
  void perform(const Operation& operation);

  void barrier(std::uint32_t tag);

  // The `bytes_each` bytes of each rank, in rank order.
  std::vector<std::byte> all_gather_bytes(std::uint32_t tag, const void* own,
                                          std::size_t bytes_each);

  void broadcast_bytes(std::uint32_t tag, void* bytes, std::size_t count, int root);

 private:
  void all_reduce(const Operation& operation);
  void reduce(const Operation& operation);
  void reduce_scatter(const Operation& operation);
  void scan(const Operation& operation);
  void all_gather(const Operation& operation);
  void all_gather_to_list(const Operation& operation);
  void gather(const Operation& operation);
  void scatter(const Operation& operation);
  void all_to_all(const Operation& operation);
  void uneven_exchange(const Operation& operation);
  void broadcast(const Operation& operation);

  std::byte* scratch(std::size_t index, std::size_t bytes);

  std::shared_ptr<gloo::Context> context_;
  std::vector<std::byte> scratch_[3];  // kept between calls; only grow
};

}  // namespace gang
