// Requests from a stream of bytes that may be cut anywhere and contain anything.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "gang/store/tcp_store_protocol.h"

namespace gang {

// The requests of one connection. Holds no more than has arrived, whatever lengths are announced.
// Takes time proportional to the number of bytes, however they are cut. Threads: one at a time.
class TcpStoreRequestReader {
 public:
  explicit TcpStoreRequestReader(TcpStoreDialect dialect, const TcpStoreLimits& limits = {});

  // Takes bytes off the front of `input`, at most to the end of one request, which it returns if it
  // is now complete. A greeting is a request too. StoreError dialect (an unknown command, a second
  // greeting) or corrupt (a limit is exceeded): the stream can no longer be understood, and the
  // connection must be closed.
  std::optional<TcpStoreRequest> read(std::span<const std::byte>& input);

  // The dialect given, or what the first bytes have shown it to be.
  TcpStoreDialect dialect() const noexcept { return dialect_; }

  // Whether a request has begun and is not complete.
  bool is_inside_request() const noexcept { return step_ != Step::command || have_ > 0; }

  // The memory held by an incomplete request.
  std::size_t held_bytes() const noexcept { return request_bytes_; }

 private:
  // What comes next.
  enum class Step : std::uint8_t {
    command,
    first_bytes,
    number,
    nonce,
    magic,
    count,
    length,
    bytes
  };

  bool advance(std::span<const std::byte>& input);
  bool fill(std::span<const std::byte>& input, std::size_t size);
  void begin_request(std::uint8_t code);
  void tell_dialect_by_first_bytes();
  void begin_field();
  void end_field();
  void begin_list();
  void continue_list();
  void begin_item();
  bool take_bytes(std::span<const std::byte>& input);
  void check_magic() const;
  TcpStoreField item_field() const noexcept;
  std::uint64_t number() const noexcept;

  TcpStoreDialect dialect_;
  TcpStoreLimits limits_;
  bool is_greeted_ = false;  // the greeting of a 2.x client has come

  Step step_ = Step::command;
  std::array<std::byte, 8> integer_{};  // the bytes of an integer that have arrived
  std::size_t have_ = 0;

  const TcpStoreLayout* layout_ = nullptr;
  std::size_t field_ = 0;         // of the layout
  std::uint64_t items_left_ = 0;  // of the list being read
  bool is_pair_value_ = false;    // in a list of pairs: the value comes next
  std::uint64_t bytes_left_ = 0;  // of the key or value being read
  bool is_complete_ = false;

  TcpStoreRequest request_;
  std::size_t request_bytes_ = 0;
};

}  // namespace gang
