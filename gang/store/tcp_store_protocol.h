// The messages between a TCP store's clients and its server, in both of PyTorch's dialects.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gang/store/store.h"

namespace gang {

// The dialects are incompatible: nearly every command has a different number, and a client of 2.x
// begins with a greeting. Source: the wire formats of torch.distributed.TCPStore in PyTorch 1.13.1
// and 2.6.0; commands of later releases have higher numbers, which are refused here.
enum class TcpStoreDialect : std::uint8_t {
  automatic,     // a server looks at the first bytes; a client tries 2.x, then 1.13
  pytorch_1_13,  // two connections per client; no greeting, no append, waits cannot be cancelled
  pytorch_2,     // 2.x
};

std::string_view to_string(TcpStoreDialect dialect) noexcept;  // "PyTorch 2"

// What a server accepts. A client that exceeds a limit loses its connection; others do not notice.
struct TcpStoreLimits {
  std::size_t max_key_bytes = std::size_t{8} << 10U;
  std::size_t max_value_bytes = max_store_value_bytes;
  std::size_t max_keys_per_request = 131'072;
  std::size_t max_request_bytes = std::size_t{64} << 20U;
  std::size_t max_reply_bytes = std::size_t{64} << 20U;
  std::size_t max_memory_bytes = std::size_t{1} << 30U;  // of everything the server holds
  std::size_t max_connections = 16'384;
};

enum class TcpStoreCommand : std::uint8_t {
  validate,
  set,
  compare_set,
  get,
  add,
  check,
  wait,
  num_keys,
  delete_key,
  append,
  multi_get,
  multi_set,
  cancel_wait,
  ping,
};

std::string_view to_string(TcpStoreCommand command) noexcept;  // "compare_set"

// One request. `keys` and `values` are in wire order; `number` is what add adds, or a ping's nonce.
struct TcpStoreRequest {
  TcpStoreCommand command = TcpStoreCommand::num_keys;
  std::vector<std::string> keys;
  std::vector<std::vector<std::byte>> values;
  std::int64_t number = 0;

  friend bool operator==(const TcpStoreRequest&, const TcpStoreRequest&) = default;
};

// What follows a command's number. A list is a u64 count and its items; keys and values are a u64
// length and their bytes. All integers are little-endian.
enum class TcpStoreField : std::uint8_t { none, key, value, number, keys, pairs, nonce, magic };

struct TcpStoreLayout {
  TcpStoreCommand command;
  std::string_view name;
  std::optional<std::uint8_t> code_1_13;  // none if the dialect lacks the command
  std::optional<std::uint8_t> code_2;
  TcpStoreField fields[3] = {};
};

const TcpStoreLayout& wire_layout_of(TcpStoreCommand command) noexcept;

// The command with this number; null if the dialect (not automatic) has none.
const TcpStoreLayout* find_layout(std::uint8_t code, TcpStoreDialect dialect) noexcept;

// The first thing that a client of 2.x sends; it gets no answer.
inline constexpr std::uint32_t tcp_store_magic = 0x3C85F7CE;

// Appends the request to `out`. NotSupported if `dialect` (not automatic) lacks the command.
void encode(const TcpStoreRequest& request, TcpStoreDialect dialect, std::vector<std::byte>& out);

// Replies: bytes are a u64 length and the bytes, a number is an i64, a question's answer one byte.
void encode_bytes(std::span<const std::byte> bytes, std::vector<std::byte>& out);
void encode_u64(std::uint64_t value, std::vector<std::byte>& out);
void encode_u32(std::uint32_t value, std::vector<std::byte>& out);
std::uint64_t decode_u64(std::span<const std::byte, 8> bytes) noexcept;
std::uint32_t decode_u32(std::span<const std::byte, 4> bytes) noexcept;

namespace tcp_store_reply {
inline constexpr std::byte ready{0};      // to check
inline constexpr std::byte not_ready{1};  // to check
inline constexpr std::byte stop_waiting{0};
inline constexpr std::byte wait_cancelled{1};
}  // namespace tcp_store_reply

}  // namespace gang
