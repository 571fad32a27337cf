// A TCP connection whose every wait has a deadline and can be interrupted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gang {

// Used by one thread at a time, but for interrupt().
//
// Errors of every call: StoreError connection (the other side is not there, or went away: says what
// the system said), timeout (the deadline passed), cancelled (interrupted). After an error only
// connect() is of use.
class TcpStoreConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using Deadline = Clock::time_point;  // max() for none

  TcpStoreConnection();
  TcpStoreConnection(const TcpStoreConnection&) = delete;
  TcpStoreConnection& operator=(const TcpStoreConnection&) = delete;
  ~TcpStoreConnection();

  // One attempt at each numeric address in turn, of a few seconds at most; closes an earlier
  // connection. That none has accepted in time is of kind connection.
  void connect(std::span<const std::string> addresses, std::uint16_t port, Deadline deadline);

  void send(std::span<const std::byte> bytes, Deadline deadline);

  // Fills `bytes`. False where the deadline passed before the first byte came: nothing is lost
  // then, and the connection is usable.
  bool try_receive(std::span<std::byte> bytes, Deadline deadline);

  // The same where a deadline that passes is an error.
  void receive(std::span<std::byte> bytes, Deadline deadline);

  // Ends the pending call and all later ones with kind cancelled. From any thread.
  void interrupt();
  bool is_interrupted() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gang
