// What a TCP store's server does with requests. Knows connections by number; has no sockets.
#pragma once

#include <cstddef>
#include <cstdint>
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
    Connection connection;  // the one that asked, or that waited for what has been set
    std::vector<std::byte> bytes;

    friend bool operator==(const Reply&, const Reply&) = default;
  };

  explicit TcpStoreService(const TcpStoreLimits& limits = {}) : limits_(limits) {}

  // Does what the request says, and returns what to send for it, in order. A wait for missing keys
  // is answered in the replies to a later request. StoreError (corrupt, not_a_number), with nothing
  // changed, where PyTorch's servers close the connection (get of a missing key, add to a value
  // that is not a number), for a second wait before the first has ended, and for a request that
  // would exceed a limit.
  std::vector<Reply> execute(Connection connection, const TcpStoreRequest& request);

  // The connection is gone and waits no longer. Its keys stay.
  void disconnect(Connection connection) { waits_.remove(connection); }

  const StoreContents& contents() const noexcept { return contents_; }
  std::size_t waiting_connections() const noexcept { return waits_.waiter_count(); }
  // Roughly the memory held, including overhead.
  std::size_t memory_bytes() const noexcept;

 private:
  using Bytes = std::vector<std::byte>;

  Bytes answer(Connection connection, const TcpStoreRequest& request);
  Bytes values_of(const TcpStoreRequest& request) const;
  Bytes wait(Connection connection, const std::vector<std::string>& keys);
  Bytes add(const TcpStoreRequest& request);
  void check_room_for(const TcpStoreRequest& request) const;
  void check_appended_size(const TcpStoreRequest& request) const;

  TcpStoreLimits limits_;
  StoreContents contents_;
  KeyWaits waits_;
};

}  // namespace gang
