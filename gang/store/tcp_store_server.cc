#include "gang/store/tcp_store_server.h"

#include <fcntl.h>

#include <array>
#include <exception>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <utility>

#include <boost/asio.hpp>
#include <fmt/format.h>

#include "gang/store/host_resolution.h"
#include "gang/store/tcp_store_request_reader.h"
#include "gang/store/tcp_store_service.h"

namespace gang {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;
using Clock = std::chrono::steady_clock;
using Bytes = std::vector<std::byte>;

// How many bytes of replies may wait to be sent before no more requests are served.
constexpr std::size_t enough_unsent_bytes = std::size_t{1} << 20U;

// A program started by this process must not keep the port or a connection open.
template <typename Socket>
void close_on_exec(Socket& socket) {
  ::fcntl(socket.native_handle(), F_SETFD, FD_CLOEXEC);
}

struct Connection {
  Connection(tcp::socket connected, const TcpStoreServerOptions& options)
      : socket(std::move(connected)), reader(options.dialect, options.limits) {}

  std::size_t held_bytes() const noexcept {
    return reader.held_bytes() + unread.capacity() + unsent.capacity() + sending.capacity();
  }

  tcp::socket socket;
  TcpStoreRequestReader reader;
  Bytes unread;   // arrived, but earlier replies have not been sent yet
  Bytes unsent;   // to be sent after `sending`
  Bytes sending;  // empty if nothing is being sent
  std::size_t counted_bytes = 0;
  Clock::time_point last_progress = Clock::now();
  bool is_waiting_for_input = false;
};

}  // namespace

// Everything except the statistics belongs to the thread that runs the io_context.
class TcpStoreServer::Impl {
 public:
  explicit Impl(TcpStoreServerOptions options)
      : options_(std::move(options)), service_(options_.limits), sweep_timer_(io_) {
    listen();
    for (tcp::acceptor& acceptor : acceptors_) accept(acceptor);
    sweep_later();
    thread_ = std::thread([this] { io_.run(); });
  }

  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  ~Impl() {
    io_.stop();
    thread_.join();
  }

  std::uint16_t port() const noexcept { return port_; }

  Statistics statistics() const {
    const std::lock_guard lock(statistics_mutex_);
    return statistics_;
  }

 private:
  using Id = TcpStoreService::Connection;
  using ConnectionPtr = std::shared_ptr<Connection>;

  void listen();
  [[noreturn]] void throw_cannot_listen(const error_code& error) const;
  bool listen_on(const tcp::endpoint& endpoint, error_code& error);
  void accept(tcp::acceptor& acceptor);
  void accept_again_later(tcp::acceptor& acceptor);
  void admit(tcp::socket socket);

  void await_input(Id id, const ConnectionPtr& connection);
  void receive(Id id, const ConnectionPtr& connection);
  void serve(Id id, const ConnectionPtr& connection, std::span<const std::byte> input);
  void deliver(std::vector<TcpStoreService::Reply> replies);
  void send(Id id, const ConnectionPtr& connection);
  void continue_after_sending(Id id, const ConnectionPtr& connection);
  void count_memory(Connection& connection);
  void refuse(Id id, std::string_view reason);
  void close(Id id);
  void sweep_later();
  void sweep();

  const TcpStoreServerOptions options_;
  TcpStoreService service_;
  asio::io_context io_{1};
  std::vector<tcp::acceptor> acceptors_;
  std::uint16_t port_ = 0;
  std::unordered_map<Id, ConnectionPtr> connections_;
  Id next_id_ = 0;
  std::size_t connection_bytes_ = 0;  // the sum of counted_bytes
  std::array<std::byte, std::size_t{64} << 10U> input_;
  asio::steady_timer sweep_timer_;

  mutable std::mutex statistics_mutex_;
  Statistics statistics_;
  std::thread thread_;
};

void TcpStoreServer::Impl::listen() {
  port_ = options_.port;
  error_code error;
  if (options_.address.empty()) {
    if (listen_on({tcp::v6(), port_}, error) || listen_on({tcp::v4(), port_}, error)) return;
    throw_cannot_listen(error);
  }
  const Clock::time_point deadline = Clock::now() + options_.stall_timeout;
  for (const std::string& address :
       addresses_of(options_.address, deadline, [] { return false; })) {
    const bool is_listening = listen_on({asio::ip::make_address(address), port_}, error);
    // Otherwise a client might reach the server of another program at this name and port.
    if (!is_listening && error == asio::error::address_in_use && options_.port != 0)
      throw_cannot_listen(error);
  }
  if (acceptors_.empty()) throw_cannot_listen(error);
}

void TcpStoreServer::Impl::throw_cannot_listen(const error_code& error) const {
  const bool is_taken = error == asio::error::address_in_use;
  throw StoreError(is_taken ? StoreErrorKind::address_in_use : StoreErrorKind::connection,
                   fmt::format("a store cannot listen on {}, port {}: {}",
                               options_.address.empty() ? "every interface" : options_.address,
                               options_.port, is_taken ? "the port is in use" : error.message()));
}

// Every address after the first uses the port of the first.
bool TcpStoreServer::Impl::listen_on(const tcp::endpoint& endpoint, error_code& error) {
  tcp::acceptor acceptor(io_);
  acceptor.open(endpoint.protocol(), error);
  if (error) return false;
  close_on_exec(acceptor);
  error_code ignored;
  acceptor.set_option(tcp::acceptor::reuse_address(true), ignored);
  if (endpoint.protocol() == tcp::v6())
    acceptor.set_option(asio::ip::v6_only(!options_.address.empty()), ignored);
  if (acceptor.bind(endpoint, error)) return false;
  if (acceptor.listen(asio::socket_base::max_listen_connections, error)) return false;
  port_ = acceptor.local_endpoint().port();
  acceptors_.push_back(std::move(acceptor));
  return true;
}

void TcpStoreServer::Impl::accept(tcp::acceptor& acceptor) {
  acceptor.async_accept([this, &acceptor](const error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    // Out of descriptors or memory; existing connections continue.
    if (error) return accept_again_later(acceptor);
    admit(std::move(socket));
    accept(acceptor);
  });
}

void TcpStoreServer::Impl::accept_again_later(tcp::acceptor& acceptor) {
  auto timer = std::make_shared<asio::steady_timer>(io_, std::chrono::milliseconds(50));
  timer->async_wait([this, &acceptor, timer](const error_code&) { accept(acceptor); });
}

void TcpStoreServer::Impl::admit(tcp::socket socket) {
  close_on_exec(socket);
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  socket.non_blocking(true, ignored);
  const Id id = next_id_++;
  const auto connection = std::make_shared<Connection>(std::move(socket), options_);
  connections_.emplace(id, connection);
  {
    const std::lock_guard lock(statistics_mutex_);
    ++statistics_.accepted;
    statistics_.connections = connections_.size();
  }
  if (connections_.size() > options_.limits.max_connections)
    return refuse(id,
                  fmt::format("there are already {} connections", options_.limits.max_connections));
  await_input(id, connection);
}

// Only the notification is asynchronous, so an idle connection has no buffer.
void TcpStoreServer::Impl::await_input(Id id, const ConnectionPtr& connection) {
  if (connection->is_waiting_for_input) return;
  connection->is_waiting_for_input = true;
  connection->socket.async_wait(tcp::socket::wait_read,
                                [this, id, connection](const error_code& error) {
                                  connection->is_waiting_for_input = false;
                                  if (error || !connections_.contains(id)) return close(id);
                                  receive(id, connection);
                                });
}

void TcpStoreServer::Impl::receive(Id id, const ConnectionPtr& connection) {
  error_code error;
  const std::size_t size = connection->socket.read_some(asio::buffer(input_), error);
  if (error == asio::error::would_block || error == asio::error::try_again)
    return await_input(id, connection);
  if (error) return close(id);
  connection->last_progress = Clock::now();
  serve(id, connection, std::span(input_).first(size));
}

void TcpStoreServer::Impl::serve(Id id, const ConnectionPtr& connection,
                                 std::span<const std::byte> input) {
  try {
    while (connection->unsent.size() + connection->sending.size() < enough_unsent_bytes) {
      const std::optional<TcpStoreRequest> request = connection->reader.read(input);
      count_memory(*connection);
      if (!request) break;
      deliver(service_.execute(id, *request));
      if (!connections_.contains(id)) return;
      count_memory(*connection);
    }
  } catch (const std::exception& error) {
    return refuse(id, error.what());
  }
  connection->unread.assign(input.begin(), input.end());
  if (connection->sending.empty() && connection->unread.empty()) await_input(id, connection);
}

void TcpStoreServer::Impl::deliver(std::vector<TcpStoreService::Reply> replies) {
  for (TcpStoreService::Reply& reply : replies) {
    const auto found = connections_.find(reply.connection);
    if (found == connections_.end()) continue;
    const ConnectionPtr connection = found->second;
    Bytes& unsent = connection->unsent;
    if (unsent.empty())
      unsent = std::move(reply.bytes);
    else
      unsent.insert(unsent.end(), reply.bytes.begin(), reply.bytes.end());
    if (connection->sending.empty()) send(reply.connection, connection);
  }
}

void TcpStoreServer::Impl::send(Id id, const ConnectionPtr& connection) {
  // Usually the system takes a reply at once.
  error_code error;
  const std::size_t sent = connection->socket.write_some(asio::buffer(connection->unsent), error);
  if (error && error != asio::error::would_block && error != asio::error::try_again)
    return close(id);
  connection->last_progress = Clock::now();
  if (sent == connection->unsent.size()) {
    connection->unsent.clear();
    if (connection->unsent.capacity() > enough_unsent_bytes) connection->unsent.shrink_to_fit();
    return;
  }
  connection->sending.assign(connection->unsent.begin() + static_cast<std::ptrdiff_t>(sent),
                             connection->unsent.end());
  connection->unsent = {};
  asio::async_write(
      connection->socket, asio::buffer(connection->sending),
      [connection](const error_code& problem, std::size_t) -> std::size_t {
        connection->last_progress = Clock::now();
        return problem ? 0 : enough_unsent_bytes;
      },
      [this, id, connection](const error_code& problem, std::size_t) {
        if (problem || !connections_.contains(id)) return close(id);
        connection->sending = {};
        continue_after_sending(id, connection);
      });
}

void TcpStoreServer::Impl::continue_after_sending(Id id, const ConnectionPtr& connection) {
  if (!connection->unsent.empty()) send(id, connection);
  if (!connections_.contains(id) || !connection->sending.empty()) return;
  const Bytes input = std::exchange(connection->unread, {});
  serve(id, connection, input);
}

// Throws if the connection holds more than before and the memory is full.
void TcpStoreServer::Impl::count_memory(Connection& connection) {
  const std::size_t held = connection.held_bytes();
  const bool has_grown = held > connection.counted_bytes;
  connection_bytes_ += held;
  connection_bytes_ -= std::exchange(connection.counted_bytes, held);
  if (has_grown && connection_bytes_ + service_.memory_bytes() > options_.limits.max_memory_bytes)
    throw StoreError(StoreErrorKind::corrupt,
                     fmt::format("not enough memory for a request; the limit is {} bytes",
                                 options_.limits.max_memory_bytes));
}

void TcpStoreServer::Impl::refuse(Id id, std::string_view reason) {
  if (!connections_.contains(id)) return;
  {
    const std::lock_guard lock(statistics_mutex_);
    ++statistics_.refused;
    statistics_.last_refusal = reason;
  }
  close(id);
}

void TcpStoreServer::Impl::close(Id id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  error_code ignored;
  found->second->socket.close(ignored);
  connection_bytes_ -= found->second->counted_bytes;
  service_.disconnect(id);
  connections_.erase(found);
  const std::lock_guard lock(statistics_mutex_);
  statistics_.connections = connections_.size();
}

void TcpStoreServer::Impl::sweep_later() {
  sweep_timer_.expires_after(options_.stall_timeout / 4);
  sweep_timer_.async_wait([this](const error_code& error) {
    if (error) return;
    sweep();
    sweep_later();
  });
}

void TcpStoreServer::Impl::sweep() {
  std::vector<Id> stalled;
  const Clock::time_point oldest = Clock::now() - options_.stall_timeout;
  for (const auto& [id, connection] : connections_) {
    const bool is_busy = connection->reader.is_inside_request() || !connection->sending.empty();
    if (is_busy && connection->last_progress < oldest) stalled.push_back(id);
  }
  for (const Id id : stalled)
    refuse(id, "no progress within a request for " + to_string(options_.stall_timeout));
}

TcpStoreServer::TcpStoreServer(TcpStoreServerOptions options) {
  if (options.stall_timeout <= Duration::zero() || options.stall_timeout == no_timeout)
    throw InvalidArgument("TcpStoreServer: stall timeout is " + to_string(options.stall_timeout) +
                          "; must be positive and finite");
  if (options.limits.max_connections == 0 || options.limits.max_memory_bytes == 0)
    throw InvalidArgument("TcpStoreServer: the limits of connections and memory must be positive");
  impl_ = std::make_unique<Impl>(std::move(options));
}

TcpStoreServer::~TcpStoreServer() = default;

std::uint16_t TcpStoreServer::port() const noexcept { return impl_->port(); }

TcpStoreServer::Statistics TcpStoreServer::statistics() const { return impl_->statistics(); }

}  // namespace gang
