#include "gang/store/tcp_store_connection.h"

#include <fcntl.h>

#include <algorithm>
#include <atomic>
#include <utility>  // which Boost.Asio uses without including it

#include <boost/asio.hpp>
#include <fmt/format.h>

#include "gang/store/store.h"

namespace gang {

namespace asio = boost::asio;
using asio::ip::tcp;
using boost::system::error_code;

namespace {

// The time for one of a host's addresses, so that the others have a chance.
constexpr auto longest_attempt = std::chrono::seconds(5);

}  // namespace

// The calling thread runs the io_context during each call; other threads only post to it.
class TcpStoreConnection::Impl {
 public:
  void connect(std::span<const std::string> addresses, std::uint16_t port, Deadline deadline) {
    error_code error = asio::error::host_not_found;
    for (const std::string& address : addresses) {
      error_code ignored;
      socket_.close(ignored);
      const tcp::endpoint endpoint(asio::ip::make_address(address, error), port);
      if (error) continue;
      const auto start = [this, &endpoint](Outcome& result) {
        socket_.async_connect(endpoint,
                              [&result](const error_code& code) { result.finish(code, 0); });
      };
      error = run(std::min(deadline, Clock::now() + longest_attempt), start).error;
      if (!error) return prepare();
      // An address that nothing answers for has timed out too.
      if (error == asio::error::operation_aborted) error = asio::error::timed_out;
    }
    throw StoreError(StoreErrorKind::connection, error.message());
  }

  void send(std::span<const std::byte> bytes, Deadline deadline) {
    const asio::const_buffer buffer(bytes.data(), bytes.size());
    const Outcome outcome = run(deadline, [this, buffer](Outcome& result) {
      asio::async_write(socket_, buffer, [&result](const error_code& code, std::size_t size) {
        result.finish(code, size);
      });
    });
    if (outcome.error == asio::error::operation_aborted)
      throw StoreError(StoreErrorKind::timeout, "the other side accepts no more data");
    throw_if_lost(outcome.error);
  }

  // Returns how many bytes came before the deadline.
  std::size_t receive(std::span<std::byte> bytes, Deadline deadline) {
    const asio::mutable_buffer buffer(bytes.data(), bytes.size());
    const Outcome outcome = run(deadline, [this, buffer](Outcome& result) {
      asio::async_read(socket_, buffer, [&result](const error_code& code, std::size_t size) {
        result.finish(code, size);
      });
    });
    if (outcome.error != asio::error::operation_aborted) throw_if_lost(outcome.error);
    return outcome.size;
  }

  void interrupt() {
    is_interrupted_ = true;
    asio::post(io_, [this] {
      error_code ignored;
      socket_.close(ignored);
    });
  }

  bool is_interrupted() const noexcept { return is_interrupted_; }

 private:
  struct Outcome {
    void finish(const error_code& code, std::size_t bytes) {
      error = code;
      size = bytes;
      is_finished = true;
    }

    error_code error;
    std::size_t size = 0;
    bool is_finished = false;
  };

  // Runs what `start` begins until it is finished; operation_aborted if the deadline comes first.
  template <typename Start>
  Outcome run(Deadline deadline, const Start& start) {
    throw_if_interrupted();
    Outcome outcome;
    io_.restart();
    start(outcome);
    while (!outcome.is_finished && Clock::now() < deadline && io_.run_one_until(deadline) > 0) {
    }
    if (!outcome.is_finished) io_.poll();  // what is already done counts, however late it is
    if (!outcome.is_finished) {
      error_code ignored;
      socket_.cancel(ignored);
      while (!outcome.is_finished && io_.run_one() > 0) {
      }
    }
    throw_if_interrupted();
    return outcome;
  }

  void prepare() {
    error_code ignored;
    socket_.set_option(tcp::no_delay(true), ignored);
    socket_.set_option(asio::socket_base::keep_alive(true), ignored);
    ::fcntl(socket_.native_handle(), F_SETFD, FD_CLOEXEC);
  }

  void throw_if_interrupted() const {
    if (is_interrupted_) throw StoreError(StoreErrorKind::cancelled, "interrupted");
  }

  static void throw_if_lost(const error_code& error) {
    if (!error) return;
    const bool is_closed = error == asio::error::eof || error == asio::error::connection_reset ||
                           error == asio::error::broken_pipe;
    throw StoreError(StoreErrorKind::connection,
                     is_closed ? "the other side closed the connection" : error.message());
  }

  asio::io_context io_;
  tcp::socket socket_{io_};
  std::atomic<bool> is_interrupted_ = false;
};

TcpStoreConnection::TcpStoreConnection() : impl_(std::make_unique<Impl>()) {}
TcpStoreConnection::~TcpStoreConnection() = default;

void TcpStoreConnection::connect(std::span<const std::string> addresses, std::uint16_t port,
                                 Deadline deadline) {
  impl_->connect(addresses, port, deadline);
}

void TcpStoreConnection::send(std::span<const std::byte> bytes, Deadline deadline) {
  impl_->send(bytes, deadline);
}

bool TcpStoreConnection::try_receive(std::span<std::byte> bytes, Deadline deadline) {
  const std::size_t size = impl_->receive(bytes, deadline);
  if (size == 0 && !bytes.empty()) return false;
  if (size < bytes.size())
    throw StoreError(StoreErrorKind::timeout,
                     fmt::format("{} of {} bytes came in time", size, bytes.size()));
  return true;
}

void TcpStoreConnection::receive(std::span<std::byte> bytes, Deadline deadline) {
  if (!try_receive(bytes, deadline))
    throw StoreError(StoreErrorKind::timeout, "the other side does not answer");
}

void TcpStoreConnection::interrupt() { impl_->interrupt(); }
bool TcpStoreConnection::is_interrupted() const noexcept { return impl_->is_interrupted(); }

}  // namespace gang
