// A store over TCP, in PyTorch's protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "gang/store/store.h"
#include "gang/store/tcp_store_protocol.h"
#include "gang/store/tcp_store_server.h"

namespace gang {

struct TcpStoreOptions {
  std::string host = "127.0.0.1";  // a name or an address
  std::uint16_t port = 0;          // not 0
  TcpStoreDialect dialect = TcpStoreDialect::automatic;
  // For connecting, and for the server's answer to anything but a wait.
  Duration timeout = std::chrono::minutes(5);
  // The server, if this process hosts it; it exists as long as this client and those made from it.
  std::shared_ptr<TcpStoreServer> server = nullptr;
};

// A client of the server at `options.host` and `options.port`: PyTorch's or a TcpStoreServer.
// Blocks until it is connected; while nothing listens there, retries until the timeout. Keys are as
// PyTorch's clients see them (on the wire each begins with '/').
//
// A client uses one connection for each of its concurrent calls.
// Errors, besides those of Store: StoreError connection (nothing listens there within the timeout,
// or the server went away; then every later call of the client fails at once with the first cause),
// timeout (the server does not answer), dialect (the peer does not speak this protocol), corrupt;
// InvalidArgument for an empty host, port 0 or a timeout that is not positive. add() to a value
// that is not a number costs the connection, since PyTorch's servers close it without a word, and
// so is of kind connection.
std::shared_ptr<Store> make_tcp_store(TcpStoreOptions options);

}  // namespace gang
