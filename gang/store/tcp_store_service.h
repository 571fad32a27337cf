// What a TCP store's server does with requests. Knows connections by number only, and no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "gang/store/key_waits.h"
#include "gang/store/store_contents.h"
#include "gang/store/tcp_store_protocol.h"

namespace gang {

// Not synchronised: one thread at a time.
class TcpStoreService {
 public:
  using Connection = std::uint64_t;

  struct Reply {
    Connection connection;  // who asked, or who waited for what has been set
    std::vector<std::byte> bytes;

    friend bool operator==(const Reply&, const Reply&) = default;
  };

  explicit TcpStoreService(const TcpStoreLimits& limits = {}) : limits_(limits) {}

  // Does what the request says; what is to be sent for it, in this order. A wait for missing keys
  // is answered by a later request's replies.
  // StoreError (corrupt, not_a_number) where PyTorch's servers close the connection: get of a
  // missing key, add to what is not a number; and for a second wait before the first has ended,
  // and for what would exceed a limit. Nothing has changed then.
  std::vector<Reply> execute(Connection connection, const TcpStoreRequest& request);

  // It is gone: it waits no longer. Its keys stay.
  void disconnect(Connection connection) { waits_.remove(connection); }

  const StoreContents& contents() const noexcept { return contents_; }
  std::size_t waiting_connections() const noexcept { return waits_.waiter_count(); }
  // What is held, roughly, overhead included.
  std::size_t memory_bytes() const noexcept;

 private:
  using Bytes = std::vector<std::byte>;

  Bytes answer(Connection connection, const TcpStoreRequest& request);
  Bytes values_of(const TcpStoreRequest& request) const;
  Bytes wait(Connection connection, const std::vector<std::string>& keys);
  Bytes add(const TcpStoreRequest& request);
  void check_room_for(const TcpStoreRequest& request) const;
  void check_appended_size(const TcpStoreRequest& request) const;
  std::vector<std::string> missing_of(const std::vector<std::string>& keys) const;

  TcpStoreLimits limits_;
  StoreContents contents_;
  KeyWaits waits_;
};

}  // namespace gang
