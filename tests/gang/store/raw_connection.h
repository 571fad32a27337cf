// A TCP connection for tests that sends and receives raw bytes.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

namespace gang {

class RawConnection {
 public:
  // To a port of this host.
  explicit RawConnection(std::uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    const sockaddr_in address = loopback(port);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
      throw std::runtime_error("cannot connect to port " + std::to_string(port));
    const int on = 1;
    ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  }
  struct Accepted {
    int socket;
  };
  explicit RawConnection(Accepted accepted) : socket_(accepted.socket) {}
  RawConnection(RawConnection&& other) noexcept : socket_(std::exchange(other.socket_, -1)) {}
  RawConnection& operator=(RawConnection&& other) noexcept {
    std::swap(socket_, other.socket_);
    return *this;
  }
  ~RawConnection() { close(); }

  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

  // Sends as much as the other side takes within a second; returns how much that was.
  std::size_t send(std::span<const std::byte> bytes) {
    std::size_t sent = 0;
    while (sent < bytes.size() && is_ready(POLLOUT, std::chrono::seconds(1))) {
      const ssize_t size =
          ::send(socket_, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0) break;
      sent += static_cast<std::size_t>(size);
    }
    return sent;
  }
  std::size_t send(const std::vector<std::byte>& bytes) { return send(std::span(bytes)); }

  // Up to `size` bytes; fewer if the other side closes or sends none for ten seconds.
  std::vector<std::byte> receive(std::size_t size) {
    std::vector<std::byte> bytes(size);
    std::size_t have = 0;
    while (have < size && is_ready(POLLIN, std::chrono::seconds(10))) {
      const ssize_t got = ::recv(socket_, bytes.data() + have, size - have, 0);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }

  // Whether the other side closes within ten seconds. Drops what it sends before that.
  bool is_closed() {
    std::vector<std::byte> dropped(1 << 16);
    while (is_ready(POLLIN, std::chrono::seconds(10)))
      if (::recv(socket_, dropped.data(), dropped.size(), 0) <= 0) return true;
    return false;
  }

  // Whether nothing comes for a moment and the connection is open.
  bool is_silent() { return !is_ready(POLLIN, std::chrono::milliseconds(20)); }

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

 private:
  bool is_ready(short event, std::chrono::milliseconds timeout) const {
    pollfd poll{socket_, event, 0};
    return ::poll(&poll, 1, static_cast<int>(timeout.count())) > 0;
  }

  int socket_;
};

// Listens on a free port of this host.
class RawListener {
 public:
  RawListener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address = RawConnection::loopback(0);
    socklen_t size = sizeof address;
    if (::bind(socket_, reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        ::listen(socket_, 16) != 0 ||
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("cannot listen");
    port_ = ntohs(address.sin_port);
  }
  RawListener(const RawListener&) = delete;
  RawListener& operator=(const RawListener&) = delete;
  ~RawListener() { close(); }

  std::uint16_t port() const { return port_; }
  RawConnection accept() const {
    return RawConnection(RawConnection::Accepted{::accept(socket_, nullptr, nullptr)});
  }
  void close() {
    if (socket_ >= 0) ::close(std::exchange(socket_, -1));
  }

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

}  // namespace gang
