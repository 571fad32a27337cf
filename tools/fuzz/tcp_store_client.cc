// What a server sends to the client of a TCP store, in either dialect, over a connection.

#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <netinet/in.h>

#include "gang/store/store.h"
#include "gang/store/tcp_store_link.h"
#include "tools/fuzz/fuzz_input.h"

namespace gang::fuzz {
namespace {

using Clock = TcpStoreConnection::Clock;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// Says the same to everyone who connects, whatever they say.
class Talker {
 public:
  Talker() {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* place = reinterpret_cast<sockaddr*>(&address);
    require(::bind(listener_, place, size) == 0 && ::listen(listener_, 16) == 0 &&
                ::getsockname(listener_, place, &size) == 0,
            "a port can be had");
    port_ = ntohs(address.sin_port);
    std::thread([this] {
      for (;;) serve();
    }).detach();
  }

  std::uint16_t port() const noexcept { return port_; }

  void say(std::vector<std::byte> bytes) {
    const std::lock_guard lock(mutex_);
    bytes_ = std::move(bytes);
  }

 private:
  void serve() {
    const int peer = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (peer < 0) return;
    {
      const std::lock_guard lock(mutex_);
      ::send(peer, bytes_.data(), bytes_.size(), MSG_NOSIGNAL);
    }
    ::shutdown(peer, SHUT_WR);
    std::array<char, 512> ignored{};
    while (::recv(peer, ignored.data(), ignored.size(), 0) > 0) {
    }
    // By a reset: otherwise the machine runs out of ports.
    const linger reset{.l_onoff = 1, .l_linger = 0};
    ::setsockopt(peer, SOL_SOCKET, SO_LINGER, &reset, sizeof reset);
    ::close(peer);
  }

  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::mutex mutex_;
  std::vector<std::byte> bytes_;
};

// Never destroyed: its thread may still accept at the end of the process.
Talker& talker() {
  static Talker* const talker = new Talker;
  return *talker;
}

void ask(TcpStoreLink& link, std::uint8_t what) {
  const auto deadline = Clock::now() + 2s;
  const std::string keys[] = {"key", "another"};
  const std::array value = {std::byte{1}, std::byte{2}};
  switch (what % 8) {
    case 0:
      link.set("key", value, deadline);
      break;
    case 1:
      link.find("key", deadline);
      break;
    case 2:
      link.add("key", 7, deadline);
      break;
    case 3:
      link.compare_set("key", value, value, deadline);
      break;
    case 4:
      link.check(keys, deadline);
      break;
    case 5:
      link.delete_key("key", deadline);
      break;
    case 6:
      link.num_keys(deadline);
      break;
    default:
      link.wait(keys, Clock::now() + 3ms);
  }
}

// The first byte chooses the dialect, and whether the greeting is answered as it should be; the
// next four choose the calls.
void converse(Input& input) {
  constexpr TcpStoreDialect dialects[] = {TcpStoreDialect::automatic, TcpStoreDialect::pytorch_1_13,
                                          TcpStoreDialect::pytorch_2};
  const std::uint8_t form = input.byte();
  const TcpStoreDialect dialect = dialects[form % std::size(dialects)];
  const std::array calls = {input.byte(), input.byte(), input.byte(), input.byte()};
  std::vector<std::byte> answers;
  if (form >= 64) {
    if (dialect == TcpStoreDialect::pytorch_1_13)
      answers.push_back(tcp_store_reply::ready);
    else
      encode_u32(0x47FFFFFF, answers);
  }
  const std::span<const std::byte> rest = input.rest();
  answers.insert(answers.end(), rest.begin(), rest.end());
  talker().say(std::move(answers));
  TcpStoreLink link({});
  link.connect({.host = "127.0.0.1", .port = talker().port()}, dialect, Clock::now() + 2s);
  for (const std::uint8_t call : calls) ask(link, call);
}

}  // namespace
}  // namespace gang::fuzz

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    gang::fuzz::Input input(data, size);
    gang::fuzz::converse(input);
  } catch (const gang::StoreError&) {
  } catch (const gang::NotSupported&) {
  }
  return 0;
}
