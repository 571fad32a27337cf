// Keys and values that the processes of a job share, to meet before there is a gang.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/duration.h"
#include "gang/error.h"

namespace gang {

enum class StoreErrorKind : std::uint8_t {
  timeout,         // a key did not appear, or the other side did not answer, in time
  cancelled,       // cancel() was called on this client
  connection,      // the other side cannot be reached, or went away
  address_in_use,  // a server cannot listen there
  dialect,         // the other side does not speak this protocol
  not_a_number,    // add() to a value that is not a decimal 64-bit integer
  corrupt,         // a file or a reply that no working peer could have written
};

std::string_view to_string(StoreErrorKind kind) noexcept;

// The store could not be read or changed. what() is one sentence and names the key.
class StoreError : public Error {
 public:
  StoreError(StoreErrorKind kind, const std::string& message) : Error(message), kind_(kind) {}

  StoreErrorKind kind() const noexcept { return kind_; }

 private:
  StoreErrorKind kind_;
};

// The limits of every store, because they are those of PyTorch's servers.
inline constexpr std::size_t max_store_key_bytes = 8'000;  // prefixes included; at least 1
inline constexpr std::size_t max_store_value_bytes = std::size_t{8} << 20U;
inline constexpr std::size_t max_store_keys_per_call = 100'000;

// A client of a map from keys to bytes. Every operation is atomic for all clients of the map, which
// all see the operations in the same order.
//
// Errors of every operation: InvalidArgument (a key that is empty or too long, a value that is too
// long, a timeout that is not positive; nothing was done); StoreError cancelled, and what a kind of
// store adds (connection, timeout, corrupt). Threads: any method may be called from any thread; a
// waiting call does not hold up others. Memory: what a client wrote elsewhere before
// set/add/compare_set/append is visible to a client that has read the result. Source: the
// operations and their results are those of PyTorch's torch.distributed.Store.
class Store {
 public:
  Store() = default;
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;
  virtual ~Store() = default;

  // Gives `key` the value, whether or not it had one. After the return, every call that a client
  // makes knowing of it sees the value.
  void set(std::string_view key, std::span<const std::byte> value);

  // The value of `key`. Blocks until there is one; StoreError timeout if none appears.
  std::vector<std::byte> get(std::string_view key, Duration timeout);

  // The value of `key` if it has one now. Never waits for a key.
  std::optional<std::vector<std::byte>> try_get(std::string_view key);

  // Adds `delta` to the decimal number at `key` (0 if missing; wraps around) and returns the sum.
  // StoreError not_a_number if the value is anything else.
  std::int64_t add(std::string_view key, std::int64_t delta);

  // Stores `desired` if the value is `expected`, or if `expected` is empty and there is no value.
  // Returns the resulting value, or `expected` if there is none. So this call has stored it only if
  // the result is `desired`.
  std::vector<std::byte> compare_set(std::string_view key, std::span<const std::byte> expected,
                                     std::span<const std::byte> desired);

  // Appends `value` to the value of `key` (empty if missing). NotSupported over PyTorch 1.13's
  // protocol, which lacks this command.
  void append(std::string_view key, std::span<const std::byte> value);

  // Whether all `keys` have values now. True for no keys.
  bool check(std::span<const std::string> keys);

  // Blocks until each of `keys` has had a value at some moment since the call. StoreError timeout
  // names keys that never had one. (Over TCP, a key that compare_set creates on one of PyTorch's
  // servers is noticed a little later, and not at all if it is gone by then.)
  void wait(std::span<const std::string> keys, Duration timeout);

  // Removes `key`; returns whether it had a value.
  bool delete_key(std::string_view key);

  // The number of keys in the whole map, whatever prefix this client adds.
  std::int64_t num_keys();

  // Ends every pending and later call of this client with StoreError cancelled. Final; does not
  // affect other clients of the map. Idempotent; does not block.
  virtual void cancel() = 0;

  // Another client of the same map, with its own cancellation, not cancelled. The map exists as
  // long as any of its clients. Over a network, the new client connects on first use.
  virtual std::shared_ptr<Store> new_client() = 0;

  // Where the map is, for messages: "memory", "127.0.0.1:29500".
  virtual std::string description() const = 0;

  // The same operations for values that are text.
  void set_text(std::string_view key, std::string_view value);
  std::string get_text(std::string_view key, Duration timeout);
  std::optional<std::string> try_get_text(std::string_view key);
  std::string compare_set_text(std::string_view key, std::string_view expected,
                               std::string_view desired);
  void append_text(std::string_view key, std::string_view value);

 protected:
  using Bytes = std::vector<std::byte>;
  using BytesView = std::span<const std::byte>;

  // What an implementation provides. The arguments have been checked.
  virtual void do_set(std::string_view key, BytesView value) = 0;
  virtual std::optional<Bytes> do_try_get(std::string_view key) = 0;
  virtual std::int64_t do_add(std::string_view key, std::int64_t delta) = 0;
  virtual Bytes do_compare_set(std::string_view key, BytesView expected, BytesView desired) = 0;
  virtual void do_append(std::string_view key, BytesView value) = 0;
  virtual bool do_check(std::span<const std::string> keys) = 0;
  virtual bool do_delete_key(std::string_view key) = 0;
  virtual std::int64_t do_num_keys() = 0;
  virtual Bytes do_get(std::string_view key, Duration timeout) = 0;
  // `keys` is not empty.
  virtual void do_wait(std::span<const std::string> keys, Duration timeout) = 0;
};

// The bytes of `text`, valid as long as it is; and back.
std::span<const std::byte> as_store_bytes(std::string_view text) noexcept;
std::string as_store_text(std::span<const std::byte> bytes);

}  // namespace gang
