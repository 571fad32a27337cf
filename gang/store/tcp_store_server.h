// The server of a TCP store.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gang/duration.h"
#include "gang/store/tcp_store_protocol.h"

namespace gang {

struct TcpStoreServerOptions {
  // A name or address of this host: the server listens on every address that it stands for. Empty:
  // on every interface, for every host that can reach this one; there is no authentication.
  std::string address = "127.0.0.1";
  std::uint16_t port = 0;                                // 0: any free port
  TcpStoreDialect dialect = TcpStoreDialect::automatic;  // automatic: per connection
  TcpStoreLimits limits;
  // How long a connection may stall within a request, or not take its replies, until it is closed.
  Duration stall_timeout = std::chrono::minutes(1);
};

// Holds the map and serves clients, PyTorch's and those of gang/store, on a thread of its own until
// destruction. Whatever a client does or fails to do costs at most its own connection.
// Threads: any method from any thread.
class TcpStoreServer {
 public:
  struct Statistics {
    std::uint64_t connections = 0;  // open now
    std::uint64_t accepted = 0;     // since the start
    std::uint64_t refused = 0;      // closed by the server because of what they sent
    std::string last_refusal;       // why: "37 is not a command of PyTorch 1.13"
  };

  // Is listening on return. StoreError address_in_use (the port is taken), connection (the address
  // is not one of this host; includes the system's message); InvalidArgument for options that are
  // not positive.
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
