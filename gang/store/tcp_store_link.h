// One connection to the server of a TCP store, in its dialect: a function per command.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gang/store/tcp_store_connection.h"
#include "gang/store/tcp_store_protocol.h"

namespace gang {

struct TcpStoreAddress {
  std::string host;
  std::uint16_t port = 0;
};

// Used by one thread at a time, except for interrupt(). Keys are as on the wire. Errors as
// TcpStoreConnection, and corrupt for a reply that no server would send; unusable after any error.
class TcpStoreLink {
 public:
  using Bytes = std::vector<std::byte>;
  using BytesView = std::span<const std::byte>;
  using Deadline = TcpStoreConnection::Deadline;
  // A value that no client ever stores, which marks a key without a value.
  using Token = std::array<std::byte, 16>;

  explicit TcpStoreLink(const Token& token);

  // Connects, and finds out the dialect unless it is given. Retries until the deadline while
  // nothing listens there. StoreError connection (nothing listened; no such host), timeout (the
  // peer does not answer), dialect (the peer does not speak this protocol), cancelled.
  void connect(const TcpStoreAddress& address, TcpStoreDialect dialect, Deadline deadline);
  TcpStoreDialect dialect() const noexcept { return dialect_; }

  // These return when the server has done it. append: NotSupported in 1.13's dialect.
  void set(std::string_view key, BytesView value, Deadline deadline);
  void append(std::string_view key, BytesView value, Deadline deadline);

  // The value; none if there is none. `read` needs one request less, but may be called only if the
  // key is known to have existed.
  std::optional<Bytes> read(std::string_view key, Deadline deadline);
  std::optional<Bytes> find(std::string_view key, Deadline deadline);
  std::int64_t add(std::string_view key, std::int64_t delta, Deadline deadline);
  Bytes compare_set(std::string_view key, BytesView expected, BytesView desired, Deadline deadline);
  bool check(std::span<const std::string> keys, Deadline deadline);
  bool delete_key(std::string_view key, Deadline deadline);
  std::int64_t num_keys(Deadline deadline);

  // Whether each key existed before `deadline`. Besides waiting, it asks now and then, because
  // PyTorch's servers do not notify clients that wait for a key when compare_set creates it.
  // In 1.13's dialect, in which a wait cannot be cancelled, it only asks. The link stays usable.
  bool wait(std::span<const std::string> keys, Deadline deadline);

  // Ends the pending call and all later ones with kind cancelled. From any thread.
  void interrupt() { connection_.interrupt(); }

 private:
  void attempt(std::span<const std::string> addresses, std::uint16_t port, TcpStoreDialect dialect,
               Deadline deadline);
  bool try_greet(TcpStoreDialect dialect, Deadline deadline);
  void pause(TcpStoreConnection::Clock::duration duration) const;

  bool wait_at_server(std::span<const std::string> keys, Deadline deadline,
                      Deadline answer_deadline);
  void send(const TcpStoreRequest& request, Deadline deadline);
  void send_and_confirm(const TcpStoreRequest& request, Deadline deadline);
  Bytes receive_bytes(Deadline deadline);
  std::int64_t receive_number(Deadline deadline);
  std::byte receive_byte(Deadline deadline);

  TcpStoreConnection connection_;
  TcpStoreDialect dialect_ = TcpStoreDialect::automatic;
  Token token_;
};

}  // namespace gang
