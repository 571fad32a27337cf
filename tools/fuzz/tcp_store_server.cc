// What a client sends to the server of a TCP store, in either dialect, in pieces of any size.

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "gang/store/store.h"
#include "gang/store/tcp_store_protocol.h"
#include "gang/store/tcp_store_request_reader.h"
#include "gang/store/tcp_store_service.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

constexpr TcpStoreDialect dialects[] = {TcpStoreDialect::automatic, TcpStoreDialect::pytorch_1_13,
                                        TcpStoreDialect::pytorch_2};

// So small that inputs reach them.
constexpr TcpStoreLimits limits = {.max_key_bytes = 64,
                                   .max_value_bytes = 256,
                                   .max_keys_per_request = 16,
                                   .max_request_bytes = 1024,
                                   .max_reply_bytes = 2048,
                                   .max_memory_bytes = 8192};

// A request is read back from what it is encoded as.
void check_encoding(const TcpStoreRequest& request, TcpStoreDialect dialect) {
  if (request.command == TcpStoreCommand::validate) return;
  std::vector<std::byte> bytes;
  if (dialect == TcpStoreDialect::pytorch_2)
    encode({.command = TcpStoreCommand::validate, .keys = {}, .values = {}}, dialect, bytes);
  encode(request, dialect, bytes);
  TcpStoreRequestReader reader(dialect, limits);
  std::span<const std::byte> left = bytes;
  std::optional<TcpStoreRequest> again;
  while (!left.empty()) again = reader.read(left);
  require(again == request, "a request is read back as it was encoded");
}

// Two connections: every other request comes on the second.
void serve(Input& input) {
  const std::uint8_t form = input.byte();
  const std::size_t piece_size = 1U + form / std::size(dialects);
  TcpStoreRequestReader reader(dialects[form % std::size(dialects)], limits);
  TcpStoreService service(limits);
  TcpStoreService::Connection connection = 0;
  while (!input.is_empty()) {
    std::span<const std::byte> piece = input.bytes(piece_size);
    while (!piece.empty()) {
      const std::optional<TcpStoreRequest> request = reader.read(piece);
      require(reader.held_bytes() <= limits.max_request_bytes, "an incomplete request is limited");
      if (!request) continue;
      check_encoding(*request, reader.dialect());
      connection = 1 - connection;
      for (const TcpStoreService::Reply& reply : service.execute(connection, *request))
        require(reply.bytes.size() <= limits.max_reply_bytes, "a reply is limited");
      require(service.memory_bytes() <= 2 * limits.max_memory_bytes, "the memory is limited");
    }
  }
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    gang::fuzz::Input input(data, size);
    gang::fuzz::serve(input);
  } catch (const gang::StoreError&) {
  }
  return 0;
}
