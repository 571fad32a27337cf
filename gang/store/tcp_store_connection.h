// A TCP connection whose every wait has a deadline and can be interrupted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace gang {

// Used by one thread at a time, except for interrupt().
//
// Errors of every call: StoreError connection (the other side is not there, or went away; includes
// the system's message), timeout (it passed), cancelled (interrupted). Then only connect() works.
class TcpStoreConnection {
 public:
  using Clock = std::chrono::steady_clock;
  using Deadline = Clock::time_point;  // max() for none

  TcpStoreConnection();
  TcpStoreConnection(const TcpStoreConnection&) = delete;
  TcpStoreConnection& operator=(const TcpStoreConnection&) = delete;
  ~TcpStoreConnection();

  // Tries each numeric address in turn, for at most a few seconds each; closes an earlier
  // connection. If none accepts in time, the error is of kind connection.
  void connect(std::span<const std::string> addresses, std::uint16_t port, Deadline deadline);

  void send(std::span<const std::byte> bytes, Deadline deadline);

  // Fills `bytes`. False if the deadline passed before the first byte came; then nothing is lost,
  // and the connection stays usable.
  bool try_receive(std::span<std::byte> bytes, Deadline deadline);

  // The same, but a deadline that passes is an error.
  void receive(std::span<std::byte> bytes, Deadline deadline);

  // Ends the pending call and all later ones with kind cancelled. From any thread.
  void interrupt();
  bool is_interrupted() const noexcept;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace gang
