// Ports for tests whose processes meet at one.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <stdexcept>

#include "gang/error.h"
#include "gang/store/tcp_store_server.h"

namespace gang::test {

// A port that nobody listens on, and that neither another test process is given nor the system
// hands out (which begins at 32768): Gloo's pairs, which ask for any free port, would now and then
// get one that another test has chosen and whose rank 0 does not listen there yet.
inline std::uint16_t free_port() {
  constexpr unsigned first = 20'000;
  constexpr unsigned ports = 12'000;
  constexpr unsigned for_each_process = 16;
  static unsigned next = static_cast<unsigned>(::getpid()) * for_each_process;
  for (unsigned tried = 0; tried < ports; ++tried) {
    const auto port = static_cast<std::uint16_t>(first + next++ % ports);
    try {
      return TcpStoreServer({.port = port}).port();
    } catch (const Error&) {
      // Somebody listens there.
    }
  }
  throw std::runtime_error("no free port from 20000 to 31999");
}

}  // namespace gang::test
