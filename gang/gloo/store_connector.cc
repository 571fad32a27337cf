#include "gang/gloo/store_connector.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <thread>
#include <utility>
#include <vector>

#include <gloo/common/error.h>
#include <gloo/transport/address.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>

#include "gang/ending_work.h"
#include "gang/error.h"
#include "gang/gang_cause.h"
#include "gang/gloo/gloo_gang.h"
#include "gang/gloo/watched_context.h"
#include "gang/store/store_failure.h"

namespace gang {
namespace {

using std::chrono::milliseconds;

// A pair waits for its connection five times as long as its context's timeout.
// Source: Gloo, transport/tcp/pair.cc.
milliseconds pair_timeout(Duration left) {
  constexpr milliseconds longest = std::chrono::hours(24);
  const auto fifth = std::chrono::duration_cast<milliseconds>(left / 5);
  return std::clamp(fifth, milliseconds(1), longest);
}

class StoreConnector final : public GlooConnector {
 public:
  StoreConnector(std::shared_ptr<gloo::transport::Device> device, std::shared_ptr<Store> store,
                 std::shared_ptr<Runtime> runtime)
      : device_(std::move(device)), store_(std::move(store)), runtime_(std::move(runtime)) {}

  std::shared_ptr<gloo::transport::Context> connect(const GlooMembership& membership,
                                                    Duration timeout) override;
  std::shared_ptr<gloo::transport::Context> watched(
      std::shared_ptr<gloo::transport::Context> transport, const std::string& prefix) override;
  void close(gloo::transport::Context& transport) noexcept override;
  void leave_note(const std::string& prefix, std::string_view text) noexcept override {
    gang::leave_note(*store_, prefix, text);
  }
  std::optional<std::string> find_note(const std::string& prefix) noexcept override {
    return gang::find_note(*store_, prefix);
  }

 private:
  void publish(const GlooMembership& membership, gloo::transport::Context& context);
  std::vector<char> address_for(const GlooMembership& membership, int peer, TimePoint deadline,
                                const std::function<void()>& check);
  std::vector<std::byte> read(const std::string& key, TimePoint deadline,
                              const std::function<void()>& check);

  std::shared_ptr<gloo::transport::Device> device_;
  std::shared_ptr<Store> store_;
  std::shared_ptr<Runtime> runtime_;
  std::shared_ptr<WaitWatch> watch_ = std::make_shared<WaitWatch>();
};

std::string address_key(const GlooMembership& membership, int rank) {
  return membership.prefix + "/" + std::to_string(rank);
}

// The addresses at which this rank listens to each of the others, in rank order.
void StoreConnector::publish(const GlooMembership& membership, gloo::transport::Context& context) {
  std::vector<char> addresses;
  for (int peer = 0; peer < membership.size; ++peer) {
    if (peer == membership.rank) continue;
    const std::vector<char> address = context.createPair(peer)->address().bytes();
    addresses.insert(addresses.end(), address.begin(), address.end());
  }
  store_->set(address_key(membership, membership.rank),
              std::as_bytes(std::span<const char>(addresses)));
}

// The value of `key`, once it has one. Calls `check` now and then.
std::vector<std::byte> StoreConnector::read(const std::string& key, TimePoint deadline,
                                            const std::function<void()>& check) {
  constexpr Duration shortest = milliseconds(25);
  const std::string keys[] = {key};
  const TimePoint began = runtime_->now();
  while (true) {
    check();
    const Duration elapsed = runtime_->now() - began;
    const Duration left = deadline - runtime_->now();
    if (left <= Duration::zero()) throw_wait_timeout(*store_, "get", keys, elapsed);
    try {
      return store_->get(key, std::min(left, std::max(shortest, elapsed / 4)));
    } catch (const StoreError& error) {
      if (error.kind() != StoreErrorKind::timeout) throw;
    }
  }
}

// Where `peer` listens to this rank.
std::vector<char> StoreConnector::address_for(const GlooMembership& membership, int peer,
                                              TimePoint deadline,
                                              const std::function<void()>& check) {
  const std::vector<std::byte> all = read(address_key(membership, peer), deadline, check);
  const auto others = static_cast<std::size_t>(membership.size - 1);
  if (all.empty() || all.size() % others != 0)
    throw StoreError(StoreErrorKind::corrupt, "the addresses of rank " + std::to_string(peer) +
                                                  " take " + std::to_string(all.size()) +
                                                  " bytes, which is not a multiple of " +
                                                  std::to_string(others) + " connections");
  const std::size_t size = all.size() / others;
  const auto index =
      static_cast<std::size_t>(membership.rank < peer ? membership.rank : membership.rank - 1);
  const char* const first = reinterpret_cast<const char*>(all.data()) + index * size;
  return {first, first + size};
}

// A pair that waits for its connection returns without a word when another thread closes it.
// Source: Gloo, transport/tcp/pair.cc (waitUntilConnected).
class ConnectingPair {
 public:
  explicit ConnectingPair(const GlooMembership& membership) {
    if (membership.parent == nullptr) return;
    meeting_ = watch_meeting(*membership.parent, membership.parent_ranks,
                             [this](int rank) { give_up(rank); });
  }

  void connect(gloo::transport::Pair& pair, const std::vector<char>& address) {
    check();
    try {
      const Waiting waiting(pair_, pair);
      pair.connect(address);
    } catch (const gloo::Exception&) {
      await_watch();
      check();
      throw;
    }
    check();
  }

  // Throws MembersLost.
  void check() const {
    if (!is_given_up_) return;
    throw MembersLost(
        lost_, lost_ == no_rank ? "its parent gang is broken" : "its connections are closed");
  }

 private:
  using PairPointer = std::atomic<gloo::transport::Pair*>;

  class Waiting {
   public:
    Waiting(PairPointer& pointer, gloo::transport::Pair& pair) : pointer_(pointer) {
      pointer_ = &pair;
    }
    ~Waiting() { pointer_ = nullptr; }
    Waiting(const Waiting&) = delete;
    Waiting& operator=(const Waiting&) = delete;

   private:
    PairPointer& pointer_;
  };

  // A member that refuses a connection may just have died, which the watch sees a little later.
  void await_watch() const {
    constexpr milliseconds step(5);
    for (int i = 0; i < 20 && meeting_ != nullptr && !is_given_up_; ++i)
      std::this_thread::sleep_for(step);
  }

  // On the watch's thread; called repeatedly, since the pair may only be about to wait.
  void give_up(int rank) {
    lost_ = rank;
    is_given_up_ = true;
    if (gloo::transport::Pair* const pair = pair_) pair->close();
  }

  PairPointer pair_ = nullptr;  // the one being connected
  std::atomic<int> lost_ = no_rank;
  std::atomic<bool> is_given_up_ = false;
  std::shared_ptr<WatchedMeeting> meeting_;  // last: destroyed first
};

std::shared_ptr<gloo::transport::Context> StoreConnector::connect(const GlooMembership& membership,
                                                                  Duration timeout) {
  const TimePoint deadline = deadline_after(*runtime_, timeout);
  auto context = device_->createContext(membership.rank, membership.size);
  context->setTimeout(pair_timeout(timeout));
  publish(membership, *context);
  ConnectingPair connecting(membership);
  for (int peer = 0; peer < membership.size; ++peer) {
    if (peer == membership.rank) continue;
    const auto address =
        address_for(membership, peer, deadline, [&connecting] { connecting.check(); });
    connecting.connect(*context->getPair(peer), address);
  }
  return context;
}

std::shared_ptr<gloo::transport::Context> StoreConnector::watched(
    std::shared_ptr<gloo::transport::Context> transport, const std::string& prefix) {
  const auto has_note = [store = store_, prefix] {
    return gang::find_note(*store, prefix).has_value();
  };
  return make_watched_context(std::move(transport), watch_, has_note);
}

// Closing a pair forgets the waits for it on this side; a wait that times out wakes all of them and
// closes all pairs. Source: Gloo, transport/tcp/unbound_buffer.cc and pair.cc.
void StoreConnector::close(gloo::transport::Context& transport) noexcept {
  try {
    transport.createUnboundBuffer(nullptr, 0)->waitRecv(nullptr, milliseconds(0));
  } catch (const std::exception&) {
    // It has timed out, as intended.
  }
}

// Frees what getaddrinfo returned.
struct FreeAddresses {
  void operator()(addrinfo* addresses) const noexcept { freeaddrinfo(addresses); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Addresses addresses_of(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), "1", &hints, &found) != 0) return nullptr;
  return Addresses(found);
}

// The address of this machine that packets to `target` would come from; "" if there is no route.
// (Connecting a datagram socket sends nothing.)
std::string source_address(const addrinfo& target) {
  const int descriptor = ::socket(target.ai_family, target.ai_socktype, target.ai_protocol);
  if (descriptor < 0) return "";
  sockaddr_storage own{};
  socklen_t length = sizeof(own);
  std::array<char, NI_MAXHOST> text{};
  const bool is_known =
      ::connect(descriptor, target.ai_addr, target.ai_addrlen) == 0 &&
      ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &length) == 0 &&
      ::getnameinfo(reinterpret_cast<const sockaddr*>(&own), length, text.data(), text.size(),
                    nullptr, 0, NI_NUMERICHOST) == 0;
  ::close(descriptor);
  return is_known ? std::string(text.data()) : "";
}

// Gloo writes to connections whose other end may be gone. By default, the signal that this raises
// ends a process other than Python's.
void ignore_broken_pipes() {
  struct sigaction action{};
  if (::sigaction(SIGPIPE, nullptr, &action) == 0 && action.sa_handler == SIG_DFL)
    std::signal(SIGPIPE, SIG_IGN);
}

}  // namespace

std::shared_ptr<GlooConnector> make_store_connector(std::shared_ptr<gloo::transport::Device> device,
                                                    std::shared_ptr<Store> store,
                                                    std::shared_ptr<Runtime> runtime) {
  return std::make_shared<StoreConnector>(std::move(device), std::move(store), std::move(runtime));
}

std::shared_ptr<GlooConnector> make_loopback_connector(std::shared_ptr<Store> store,
                                                       std::shared_ptr<Runtime> runtime) {
  return make_store_connector(make_tcp_device("127.0.0.1"), std::move(store), std::move(runtime));
}

std::shared_ptr<gloo::transport::Device> make_tcp_device(const std::string& host) {
  ignore_broken_pipes();
  const Addresses targets = addresses_of(host);
  for (const addrinfo* target = targets.get(); target != nullptr; target = target->ai_next) {
    const std::string own = source_address(*target);
    if (own.empty()) continue;
    return gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr(own.c_str()));
  }
  throw InvalidArgument("this machine has no route to '" + host +
                        "'; must be the name or address of a reachable host");
}

}  // namespace gang
