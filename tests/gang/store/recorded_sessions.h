// What PyTorch's clients sent and what PyTorch's servers answered, byte for byte.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gang {

// A request and its reply, in hexadecimal; the reply is empty if there is none.
struct RecordedExchange {
  std::string_view sent;
  std::string_view received;
};

// Recorded between the TCPStore client and server of Debian 12's PyTorch 1.13.1:
// set a=value, get a, add n 5 and -7, compare_set c in all ways, of a missing key, wait for a and
// n, num_keys, delete_key a twice, set end=''.
inline constexpr std::array session_of_1_13 = {
    RecordedExchange{"0002000000000000002f61050000000000000076616c7565", ""},
    RecordedExchange{"05010000000000000002000000000000002f61", "00"},
    RecordedExchange{"0202000000000000002f61", "050000000000000076616c7565"},
    RecordedExchange{"0302000000000000002f6e0500000000000000", "0500000000000000"},
    RecordedExchange{"0302000000000000002f6ef9ffffffffffffff", "feffffffffffffff"},
    RecordedExchange{"0102000000000000002f63000000000000000005000000000000006669727374",
                     "05000000000000006669727374"},
    RecordedExchange{"0102000000000000002f630500000000000000666972737406000000000000007365636f6e64",
                     "06000000000000007365636f6e64"},
    RecordedExchange{"0102000000000000002f6305000000000000006669727374010000000000000078",
                     "06000000000000007365636f6e64"},
    RecordedExchange{"0105000000000000002f6d697373010000000000000065010000000000000078",
                     "010000000000000065"},
    RecordedExchange{"05020000000000000002000000000000002f6102000000000000002f6e", "00"},
    RecordedExchange{"06", "0300000000000000"},
    RecordedExchange{"0802000000000000002f61", "0100000000000000"},
    RecordedExchange{"0802000000000000002f61", "0000000000000000"},
    RecordedExchange{"0004000000000000002f656e640000000000000000", ""},
};

// The same with Debian 13's PyTorch 2.6.0, and further: the greeting, check, append, multi_set,
// multi_get, a wait that timed out and was cancelled.
inline constexpr std::array session_of_2 = {
    RecordedExchange{"00cef7853c0dea710000", "ea710000"},
    RecordedExchange{"0102000000000000002f61050000000000000076616c7565", ""},
    RecordedExchange{"06010000000000000002000000000000002f61", "00"},
    RecordedExchange{"0302000000000000002f61", "050000000000000076616c7565"},
    RecordedExchange{"0402000000000000002f6e0500000000000000", "0500000000000000"},
    RecordedExchange{"0402000000000000002f6ef9ffffffffffffff", "feffffffffffffff"},
    RecordedExchange{"0202000000000000002f63000000000000000005000000000000006669727374",
                     "05000000000000006669727374"},
    RecordedExchange{"0202000000000000002f630500000000000000666972737406000000000000007365636f6e64",
                     "06000000000000007365636f6e64"},
    RecordedExchange{"0202000000000000002f6305000000000000006669727374010000000000000078",
                     "06000000000000007365636f6e64"},
    RecordedExchange{"0205000000000000002f6d697373010000000000000065010000000000000078",
                     "010000000000000065"},
    RecordedExchange{"05020000000000000002000000000000002f6102000000000000002f6e", "00"},
    RecordedExchange{"05020000000000000002000000000000002f6104000000000000002f7a7a7a", "01"},
    RecordedExchange{"06020000000000000002000000000000002f6102000000000000002f6e", "00"},
    RecordedExchange{"07", "0300000000000000"},
    RecordedExchange{"0802000000000000002f61", "0100000000000000"},
    RecordedExchange{"0802000000000000002f61", "0000000000000000"},
    RecordedExchange{"0903000000000000002f6170010000000000000078", ""},
    RecordedExchange{"0903000000000000002f61700200000000000000797a", ""},
    RecordedExchange{
        "0b020000000000000003000000000000002f6d3101000000000000003103000000000000002f6d"
        "32010000000000000032",
        ""},
    RecordedExchange{"06020000000000000003000000000000002f6d3103000000000000002f6170", "00"},
    RecordedExchange{"0a020000000000000003000000000000002f6d3103000000000000002f6170",
                     "010000000000000031030000000000000078797a"},
    RecordedExchange{"06010000000000000006000000000000002f6e65766572", ""},
    RecordedExchange{"0c", "01"},
    RecordedExchange{"07", "0500000000000000"},
    RecordedExchange{"0104000000000000002f656e640000000000000000", ""},
};

inline std::vector<std::byte> bytes_of_hexadecimal(std::string_view text) {
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(std::string(text.substr(i, 2)), nullptr, 16)));
  return bytes;
}

template <typename Session>
std::vector<std::byte> all_sent(const Session& session) {
  std::vector<std::byte> bytes;
  for (const RecordedExchange& exchange : session) {
    const std::vector<std::byte> more = bytes_of_hexadecimal(exchange.sent);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

template <typename Session>
std::vector<std::byte> all_received(const Session& session) {
  std::vector<std::byte> bytes;
  for (const RecordedExchange& exchange : session) {
    const std::vector<std::byte> more = bytes_of_hexadecimal(exchange.received);
    bytes.insert(bytes.end(), more.begin(), more.end());
  }
  return bytes;
}

}  // namespace gang
