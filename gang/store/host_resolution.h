// Addresses of hosts, without waiting too long for a name server.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <vector>

namespace gang {

// The numeric addresses of `host`, IPv4 before IPv6 and otherwise in the system's order; never
// empty. The address of an address is itself.
//
// Blocks until the name is resolved, `deadline` has passed, or `is_cancelled`, which is called now
// and then, returns true; a thread that asks the system may stay behind until the system answers.
// StoreError connection (no such name; includes the system's message), timeout, cancelled.
std::vector<std::string> addresses_of(const std::string& host,
                                      std::chrono::steady_clock::time_point deadline,
                                      const std::function<bool()>& is_cancelled);

}  // namespace gang
