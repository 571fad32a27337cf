// The server of a TCP store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gang/duration.h"
#include "gang/store/tcp_store_protocol.h"

namespace gang {

struct TcpStoreServerOptions {
  // A name or address of this host: the server listens on all it stands for. Empty: on every
  // interface, to whoever can reach this host; there is no authentication.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                                // 0: one that is free
  TcpStoreDialect dialect = TcpStoreDialect::automatic;  // automatic: each connection its own
  TcpStoreLimits limits;
  // A connection that stops in the middle of a request or does not take its replies is closed.
  Duration stall_timeout = std::chrono::minutes(1);
};

// Holds the map and serves PyTorch's clients and ours, on a thread of its own, until destruction.
// Whatever a client sends or fails to do costs that client's connection at most.
// Threads: any method from any thread.
class TcpStoreServer {
 public:
  struct Statistics {
    std::uint64_t connections = 0;  // open now
    std::uint64_t accepted = 0;     // since the start
    std::uint64_t refused = 0;      // closed by the server because of what they sent
    std::string last_refusal;       // why: "37 is no command of PyTorch 1.13"
  };

  // Listens when it returns. StoreError address_in_use (the port is taken), connection (the
  // address is not one of this host: says what the system said); InvalidArgument for options that
  // are not positive.
  explicit TcpStoreServer(TcpStoreServerOptions options = {});
  TcpStoreServer(const TcpStoreServer&) = delete;
  TcpStoreServer& operator=(const TcpStoreServer&) = delete;
  // Closes all connections; the keys are gone.
  ~TcpStoreServer();

  std::uint16_t port() const noexcept;
  Statistics statistics() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gang
