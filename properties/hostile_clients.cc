#include <algorithm>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "gang/store/tcp_store_request_reader.h"
#include "properties/case_text.h"
#include "properties/simpler_cases.h"
#include "properties/stores_behave.h"

namespace gang::properties {
namespace {

using Bytes = std::vector<std::byte>;
using Reply = TcpStoreService::Reply;

constexpr TcpStoreLimits server_limits = {.max_value_bytes = 4096,
                                          .max_request_bytes = 16'384,
                                          .max_reply_bytes = 16'384,
                                          .max_memory_bytes = 65'536};
constexpr int most_connections = 4;
constexpr TcpStoreService::Connection bystander = 1000;

Bytes bytes_of(std::string_view text) {
  const std::span bytes = as_store_bytes(text);
  return {bytes.begin(), bytes.end()};
}

// A server's connections, without sockets. Input that makes no sense closes its connection.
class Server {
 public:
  explicit Server(const ExecuteRequest& execute) : execute_(execute) {}

  void receive(int connection, std::span<const std::byte> input) {
    const auto id = static_cast<TcpStoreService::Connection>(connection);
    if (closed_.contains(connection)) return;
    auto& reader =
        readers_.try_emplace(connection, TcpStoreDialect::automatic, server_limits).first->second;
    try {
      while (const std::optional<TcpStoreRequest> request = reader.read(input))
        execute_(service_, id, *request);
    } catch (const StoreError&) {
      closed_.insert(connection);
      service_.disconnect(id);
    } catch (const std::exception& error) {
      problem_ =
          fmt::format("connection {} throws an unexpected exception: {}", connection, error.what());
    }
  }

  // A bystander asks for a key of its own. What is wrong with the server; empty if nothing is.
  std::string check() {
    if (!problem_.empty()) return problem_;
    const TcpStoreRequest get{.command = TcpStoreCommand::get, .keys = {"bystander"}};
    Bytes expected;
    encode_bytes(bytes_of("value"), expected);
    try {
      if (execute_(service_, bystander, get) != std::vector<Reply>{{bystander, expected}})
        return "a bystander gets a wrong value";
    } catch (const StoreError& error) {
      return fmt::format("a bystander loses its connection: {}", error.what());
    }
    if (service_.memory_bytes() > server_limits.max_memory_bytes)
      return "the memory limit is exceeded";
    std::size_t held = 0;
    for (const auto& [connection, reader] : readers_) held = std::max(held, reader.held_bytes());
    return held > server_limits.max_request_bytes ? "the request limit is exceeded" : "";
  }

  void prepare() {
    execute_(
        service_, bystander,
        {.command = TcpStoreCommand::set, .keys = {"bystander"}, .values = {bytes_of("value")}});
  }

 private:
  const ExecuteRequest& execute_;
  TcpStoreService service_{server_limits};
  std::map<int, TcpStoreRequestReader> readers_;
  std::set<int> closed_;
  std::string problem_;
};

Verdict judge_server(const HostileCase& one, const ExecuteRequest& execute) {
  Server server(execute);
  server.prepare();
  for (std::size_t i = 0; i < one.pieces.size(); ++i) {
    server.receive(one.pieces[i].connection, one.pieces[i].bytes);
    if (const std::string problem = server.check(); !problem.empty())
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
           !wire_layout_of(request.command).code_1_13.has_value());
  const bool is_list = wire_layout_of(request.command).fields[0] == TcpStoreField::keys ||
                       wire_layout_of(request.command).fields[0] == TcpStoreField::pairs;
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

HostileCase generate_hostile(Draw& draw) {
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
  return to_property(Law<HostileCase>{
      .suite = "stores_behave",
      .name = "servers_survive_any_bytes",
      .description = "Whatever bytes a client sends, others are served and memory is bounded.",
      .cost = 3,
      .generate = generate_hostile,
      .verdict = [execute](const HostileCase& one) { return judge_server(one, execute); }});
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
  return fmt::format("{}, {}{}", counted(one.pieces.size(), "piece"), counted(total, "byte"),
                     lines);
}

std::vector<HostileCase> shrinks(const HostileCase& one) {
  SimplerCases simpler(one);
  simpler.drop_each(&HostileCase::pieces, 1);
  for (std::size_t i = 0; i < one.pieces.size(); ++i) {
    const std::size_t length = one.pieces[i].bytes.size();
    if (length < 2) continue;
    for (const std::size_t shorter : {length / 2, length - 1})
      simpler.add([i, shorter](HostileCase& other) { other.pieces[i].bytes.resize(shorter); });
  }
  return simpler.take();
}

}  // namespace gang::properties
