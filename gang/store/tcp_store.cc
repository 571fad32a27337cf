#include "gang/store/tcp_store.h"

#include <algorithm>
#include <mutex>
#include <random>
#include <set>
#include <type_traits>
#include <utility>

#include <fmt/format.h>

#include "gang/store/store_failure.h"
#include "gang/store/tcp_store_link.h"

namespace gang {
namespace {

using Clock = TcpStoreConnection::Clock;
using Deadline = TcpStoreLink::Deadline;
using Link = std::unique_ptr<TcpStoreLink>;

constexpr std::string_view connecting = "connecting";

Deadline ends_after(Duration timeout) {
  const Clock::time_point now = Clock::now();
  return timeout >= Deadline::max() - now ? Deadline::max() : now + timeout;
}

TcpStoreLink::Token random_token() {
  std::random_device random;
  TcpStoreLink::Token token{};
  std::ranges::generate(token, [&random] { return static_cast<std::byte>(random()); });
  return token;
}

std::string on_the_wire(std::string_view key) { return "/" + std::string(key); }

std::vector<std::string> on_the_wire(std::span<const std::string> keys) {
  std::vector<std::string> result;
  result.reserve(keys.size());
  for (const std::string& key : keys) result.push_back(on_the_wire(std::string_view(key)));
  return result;
}

class TcpStore final : public Store {
 public:
  explicit TcpStore(TcpStoreOptions options)
      : options_(std::move(options)), token_(random_token()) {}

  void connect() {
    call(connecting, "", [](TcpStoreLink&, Deadline) { return 0; });
  }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    is_cancelled_ = true;
    for (TcpStoreLink* link : busy_) link->interrupt();
    idle_.clear();
  }

  std::shared_ptr<Store> new_client() override {
    TcpStoreOptions options = options_;
    const std::lock_guard lock(mutex_);
    options.dialect = dialect_ == TcpStoreDialect::automatic ? options.dialect : dialect_;
    return std::make_shared<TcpStore>(std::move(options));
  }

  std::string description() const override {
    const bool is_v6 = options_.host.find(':') != std::string::npos;
    return is_v6 ? fmt::format("[{}]:{}", options_.host, options_.port)
                 : fmt::format("{}:{}", options_.host, options_.port);
  }

 protected:
  void do_set(std::string_view key, BytesView value) override {
    call("set", key, [key, value](TcpStoreLink& link, Deadline deadline) {
      link.set(on_the_wire(key), value, deadline);
      return 0;
    });
  }

  std::optional<Bytes> do_try_get(std::string_view key) override {
    return call("try_get", key, [key](TcpStoreLink& link, Deadline deadline) {
      return link.find(on_the_wire(key), deadline);
    });
  }

  std::int64_t do_add(std::string_view key, std::int64_t delta) override {
    return call("add", key, [key, delta](TcpStoreLink& link, Deadline deadline) {
      return link.add(on_the_wire(key), delta, deadline);
    });
  }

  Bytes do_compare_set(std::string_view key, BytesView expected, BytesView desired) override {
    return call("compare_set", key,
                [key, expected, desired](TcpStoreLink& link, Deadline deadline) {
                  return link.compare_set(on_the_wire(key), expected, desired, deadline);
                });
  }

  void do_append(std::string_view key, BytesView value) override {
    call("append", key, [key, value](TcpStoreLink& link, Deadline deadline) {
      link.append(on_the_wire(key), value, deadline);
      return 0;
    });
  }

  bool do_check(std::span<const std::string> keys) override {
    return call("check", keys.empty() ? std::string_view() : keys.front(),
                [keys](TcpStoreLink& link, Deadline deadline) {
                  return link.check(on_the_wire(keys), deadline);
                });
  }

  bool do_delete_key(std::string_view key) override {
    return call("delete_key", key, [key](TcpStoreLink& link, Deadline deadline) {
      return link.delete_key(on_the_wire(key), deadline);
    });
  }

  std::int64_t do_num_keys() override {
    return call("num_keys", "",
                [](TcpStoreLink& link, Deadline deadline) { return link.num_keys(deadline); });
  }

  Bytes do_get(std::string_view key, Duration timeout) override {
    const Clock::time_point start = Clock::now();
    const Deadline end = ends_after(timeout);
    const std::string keys[] = {std::string(key)};
    while (true) {
      wait_until("get", keys, start, end);
      std::optional<Bytes> value = call("get", key, [key](TcpStoreLink& link, Deadline deadline) {
        return link.read(on_the_wire(key), deadline);
      });
      if (value) return *std::move(value);  // otherwise it has been deleted in the meantime
    }
  }

  void do_wait(std::span<const std::string> keys, Duration timeout) override {
    wait_until("wait", keys, Clock::now(), ends_after(timeout));
  }

 private:
  // The link of one call. It is kept for later calls only if the call succeeds.
  class Lease {
   public:
    explicit Lease(TcpStore& store, Link link) : store_(store), link_(std::move(link)) {}
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      const std::lock_guard lock(store_.mutex_);
      store_.busy_.erase(link_.get());
      if (is_usable_ && !store_.is_cancelled_) store_.idle_.push_back(std::move(link_));
    }
    TcpStoreLink& link() { return *link_; }
    void keep() { is_usable_ = true; }

   private:
    TcpStore& store_;
    Link link_;
    bool is_usable_ = false;
  };

  // Runs `body(link, deadline)` on its own link.
  template <typename Body>
  std::invoke_result_t<Body, TcpStoreLink&, Deadline> call(std::string_view operation,
                                                           std::string_view key, const Body& body) {
    const Clock::time_point start = Clock::now();
    const Deadline deadline = ends_after(options_.timeout);
    try {
      Lease lease(*this, take_link(operation, key));
      connect_if_new(lease.link(), deadline);
      auto result = body(lease.link(), deadline);
      lease.keep();
      return result;
    } catch (const StoreError& error) {
      rethrow(error, operation, key, Clock::now() - start);
    }
  }

  void wait_until(std::string_view operation, std::span<const std::string> keys,
                  Clock::time_point start, Deadline end) {
    const std::vector<std::string> wire_keys = on_the_wire(keys);
    try {
      Lease lease(*this, take_link(operation, keys.front()));
      connect_if_new(lease.link(), std::min(end, ends_after(options_.timeout)));
      const bool have_come = lease.link().wait(wire_keys, end);
      lease.keep();
      if (have_come) return;
    } catch (const StoreError& error) {
      // A connection attempt with too little time says nothing about the server.
      const bool is_late = error.kind() == StoreErrorKind::connection && Clock::now() >= end;
      rethrow(is_late ? StoreError(StoreErrorKind::timeout, error.what()) : error, operation,
              keys.front(), Clock::now() - start);
    }
    throw_wait_timeout(*this, operation, keys, Clock::now() - start);
  }

  Link take_link(std::string_view operation, std::string_view key) {
    const std::lock_guard lock(mutex_);
    if (is_cancelled_) throw_cancelled(*this, operation, key);
    if (!lost_because_.empty()) throw StoreError(StoreErrorKind::connection, lost_because_);
    Link link;
    if (idle_.empty()) {
      link = std::make_unique<TcpStoreLink>(token_);
    } else {
      link = std::move(idle_.back());
      idle_.pop_back();
    }
    busy_.insert(link.get());
    return link;
  }

  void connect_if_new(TcpStoreLink& link, Deadline deadline) {
    if (link.dialect() != TcpStoreDialect::automatic) return;
    TcpStoreDialect dialect = options_.dialect;
    {
      const std::lock_guard lock(mutex_);
      if (dialect_ != TcpStoreDialect::automatic) dialect = dialect_;
    }
    link.connect({options_.host, options_.port}, dialect, deadline);
    const std::lock_guard lock(mutex_);
    dialect_ = link.dialect();
  }

  [[noreturn]] void rethrow(const StoreError& error, std::string_view operation,
                            std::string_view key, Duration elapsed) {
    if (error.kind() == StoreErrorKind::cancelled) throw_cancelled(*this, operation, key);
    const std::string what = operation == connecting ? "connecting to the store at " + description()
                                                     : operation_on(*this, operation, key);
    const std::string message =
        fmt::format("{} failed after {}: {}", what, to_string(elapsed), error.what());
    const std::lock_guard lock(mutex_);
    if (error.kind() == StoreErrorKind::connection && lost_because_.empty())
      lost_because_ = message;
    throw StoreError(error.kind(), message);
  }

  const TcpStoreOptions options_;
  const TcpStoreLink::Token token_;
  mutable std::mutex mutex_;  // guards what follows
  std::vector<Link> idle_;
  std::set<TcpStoreLink*> busy_;                          // owned by leases
  TcpStoreDialect dialect_ = TcpStoreDialect::automatic;  // the server's, once it is known
  std::string lost_because_;
  bool is_cancelled_ = false;
};

}  // namespace

std::shared_ptr<Store> make_tcp_store(TcpStoreOptions options) {
  if (options.host.empty())
    throw InvalidArgument("make_tcp_store: the host is empty; must be a name or an address");
  if (options.port == 0) throw InvalidArgument("make_tcp_store: the port is 0; must be 1 to 65535");
  check_timeout("make_tcp_store", options.timeout);
  auto store = std::make_shared<TcpStore>(std::move(options));
  store->connect();
  return store;
}

}  // namespace gang
