// Addresses of hosts, without waiting longer than wanted for a name server.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace gang {

// The numeric addresses of `host`, IPv4 before IPv6 and otherwise as the system orders them; never
// empty. An address stands for itself.
//
// Blocks until the name is resolved, `deadline` has passed, or `is_cancelled` says so, which is
// asked now and then; a thread that asks the system may stay behind until the system answers.
// StoreError connection (no such name: says what the system said), timeout, cancelled.
std::vector<std::string> addresses_of(const std::string& host,
                                      std::chrono::steady_clock::time_point deadline,
                                      const std::function<bool()>& is_cancelled);

}  // namespace gang
