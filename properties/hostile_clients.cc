#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "gang/store/tcp_store_request_reader.h"
#include "properties/stores_behave.h"

namespace gang::properties {
namespace {

using Bytes = std::vector<std::byte>;
using Reply = TcpStoreService::Reply;

constexpr TcpStoreLimits limits = {.max_value_bytes = 4096,
                                   .max_request_bytes = 16'384,
                                   .max_reply_bytes = 16'384,
                                   .max_memory_bytes = 65'536};
constexpr int most_connections = 4;
constexpr TcpStoreService::Connection bystander = 1000;

Bytes bytes_of(std::string_view text) {
  const std::span bytes = as_store_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// A server's connections, without sockets: each is closed by what makes no sense on it.
class Server {
 public:
  explicit Server(const ExecuteRequest& execute) : execute_(execute) {}

  void receive(int connection, std::span<const std::byte> input) {
    const auto id = static_cast<TcpStoreService::Connection>(connection);
    if (closed_.contains(connection)) return;
    auto& reader =
        readers_.try_emplace(connection, TcpStoreDialect::automatic, limits).first->second;
    try {
      while (const std::optional<TcpStoreRequest> request = reader.read(input))
        execute_(service_, id, *request);
    } catch (const StoreError&) {
      closed_.insert(connection);
      service_.disconnect(id);
    } catch (const std::exception& error) {
      problem_ =
          fmt::format("connection {} throws what nobody expects: {}", connection, error.what());
    }
  }

  // Somebody else asks for a key of its own; what is wrong with the server, if anything.
  std::string look() {
    if (!problem_.empty()) return problem_;
    const TcpStoreRequest get{.command = TcpStoreCommand::get, .keys = {"bystander"}};
    Bytes expected;
    encode_bytes(bytes_of("value"), expected);
    try {
      if (execute_(service_, bystander, get) != std::vector<Reply>{{bystander, expected}})
        return "a bystander gets another value";
    } catch (const StoreError& error) {
      return fmt::format("a bystander loses its connection: {}", error.what());
    }
    if (service_.memory_bytes() > limits.max_memory_bytes) return "the memory limit is exceeded";
    std::size_t held = 0;
    for (const auto& [connection, reader] : readers_) held = std::max(held, reader.held_bytes());
    return held > limits.max_request_bytes ? "a request's limit is exceeded" : "";
  }

  void prepare() {
    execute_(
        service_, bystander,
        {.command = TcpStoreCommand::set, .keys = {"bystander"}, .values = {bytes_of("value")}});
  }

 private:
  const ExecuteRequest& execute_;
  TcpStoreService service_{limits};
  std::map<int, TcpStoreRequestReader> readers_;
  std::set<int> closed_;
  std::string problem_;
};

Verdict judge(const HostileCase& one, const ExecuteRequest& execute) {
  Server server(execute);
  server.prepare();
  for (std::size_t i = 0; i < one.pieces.size(); ++i) {
    server.receive(one.pieces[i].connection, one.pieces[i].bytes);
    if (const std::string problem = server.look(); !problem.empty())
      return Verdict::violated(fmt::format("after piece {}: {}", i, problem));
  }
  return Verdict::holds();
}

TcpStoreRequest generate_request(Draw& draw, TcpStoreDialect dialect) {
  static const std::string keys[] = {"/a", "/b", "/c", "", "init/"};
  TcpStoreRequest request;
  do {
    request.command = static_cast<TcpStoreCommand>(draw.between(1, 13));
  } while (dialect == TcpStoreDialect::pytorch_1_13 &&
           !layout_of(request.command).code_1_13.has_value());
  const bool is_list = layout_of(request.command).fields[0] == TcpStoreField::keys ||
                       layout_of(request.command).fields[0] == TcpStoreField::pairs;
  for (int i = is_list ? draw.between(0, 3) : 1; i > 0; --i) {
    request.keys.push_back(draw.any_of(keys));
    request.values.push_back(bytes_of(draw.one_in(3) ? "12" : draw.any_of(keys)));
    if (draw.one_in(6))
      request.values.back().resize(static_cast<std::size_t>(draw.between(0, 5000)));
  }
  if (!is_list) request.values.push_back(bytes_of(draw.any_of(keys)));
  request.number = draw.between(-5, 5);
  return request;
}

Bytes generate_stream(Draw& draw) {
  const auto dialect = draw.one_in(2) ? TcpStoreDialect::pytorch_2 : TcpStoreDialect::pytorch_1_13;
  Bytes stream;
  if (dialect == TcpStoreDialect::pytorch_2)
    encode({.command = TcpStoreCommand::validate}, dialect, stream);
  for (int i = draw.between(1, 6); i > 0; --i)
    encode(generate_request(draw, dialect), dialect, stream);
  for (int damage = draw.one_in(2) ? draw.between(1, 3) : 0; damage > 0; --damage)
    stream[draw.random.below(stream.size())] = static_cast<std::byte>(draw.random.below(256));
  return stream;
}

HostileCase generate(Draw& draw) {
  HostileCase one;
  std::vector<Bytes> streams(static_cast<std::size_t>(draw.between(1, most_connections)));
  for (Bytes& stream : streams) stream = generate_stream(draw);
  bool is_any_left = true;
  while (is_any_left) {
    is_any_left = false;
    for (std::size_t i = 0; i < streams.size(); ++i) {
      if (streams[i].empty()) continue;
      const auto size = static_cast<std::ptrdiff_t>(
          std::min<std::size_t>(streams[i].size(), 1 + draw.random.below(2000)));
      one.pieces.push_back(
          {static_cast<int>(i), Bytes(streams[i].begin(), streams[i].begin() + size)});
      streams[i].erase(streams[i].begin(), streams[i].begin() + size);
      is_any_left = true;
    }
  }
  return one;
}

}  // namespace

Property servers_survive_any_bytes(const ExecuteRequest& execute) {
  Law<HostileCase> law;
  law.suite = "stores_behave";
  law.name = "servers_survive_any_bytes";
  law.description = "Whatever comes to a server, others are served and its memory is bounded.";
  law.cost = 3;
  law.generate = generate;
  law.verdict = [execute](const HostileCase& one) { return judge(one, execute); };
  return to_property(law);
}

std::string to_text(const HostileCase& one) {
  std::size_t total = 0;
  std::string lines;
  for (const HostileCase::Piece& piece : one.pieces) {
    total += piece.bytes.size();
    lines += fmt::format("\n  connection {} sends ", piece.connection);
    for (const std::byte byte : piece.bytes)
      lines += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  }
  return fmt::format("{} pieces, {} bytes{}", one.pieces.size(), total, lines);
}

std::vector<HostileCase> shrinks(const HostileCase& one) {
  std::vector<HostileCase> simpler;
  for (std::size_t i = 0; i < one.pieces.size() && one.pieces.size() > 1; ++i) {
    simpler.push_back(one);
    simpler.back().pieces.erase(simpler.back().pieces.begin() + static_cast<std::ptrdiff_t>(i));
  }
  for (std::size_t i = 0; i < one.pieces.size(); ++i) {
    if (one.pieces[i].bytes.size() < 2) continue;
    for (const std::size_t size :
         {one.pieces[i].bytes.size() / 2, one.pieces[i].bytes.size() - 1}) {
      simpler.push_back(one);
      simpler.back().pieces[i].bytes.resize(size);
    }
  }
  return simpler;
}

}  // namespace gang::properties
