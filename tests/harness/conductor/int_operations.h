// Operations on one i32, as a client says them.
#pragma once

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "harness/conductor/client.h"
#include "harness/conductor/messages.h"
#include "tests/harness/conductor/bytes.h"

namespace gang::harness::conducted {

inline OperationMessage int_sum(std::int32_t value, std::uint32_t group = 0) {
  return {.group = group,
          .kind = OperationKind::all_reduce,
          .type = DataType::i32,
          .count = 1,
          .call_site = CallSite::in_function("train.py\0step", 7),
          .data = bytes_of(std::vector{value})};
}

inline OperationMessage int_send(int peer, std::int32_t value) {
  return {.kind = OperationKind::send,
          .type = DataType::i32,
          .peer = peer,
          .count = 1,
          .data = bytes_of(std::vector{value})};
}

inline OperationMessage int_recv(int peer) {
  return {.kind = OperationKind::recv,
          .type = DataType::i32,
          .peer = peer,
          .count = 1,
          .call_site = CallSite::in_function("train.py\0step", 9)};
}

// What a blocking sum of all values comes to.
inline std::int32_t sum(Client& client, std::int32_t value, std::uint32_t group = 0) {
  const OperationResult result = client.call(int_sum(value, group));
  EXPECT_EQ(result.status, Status::done) << result.error;
  return result.values<std::int32_t>().at(0);
}

}  // namespace gang::harness::conducted
