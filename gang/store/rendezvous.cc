#include "gang/store/rendezvous.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "gang/store/prefix_store.h"
#include "gang/store/tcp_store.h"
#include "gang/store/tcp_store_server.h"

namespace gang {
namespace {

using Clock = std::chrono::steady_clock;

constexpr Duration longest_farewell = std::chrono::seconds(5);

std::string rank_key(int rank) { return "rank/" + std::to_string(rank); }

// This process, for people: "process 4711 of node03".
std::string own_name() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host[0] = '?';
  return fmt::format("process {} of {}", ::getpid(), host.data());
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

// The meeting of all ranks: each says that it is there, and rank 0 says that all are.
class Meeting {
 public:
  struct Limit {
    Clock::time_point start;
    Duration timeout;
  };

  Meeting(const Environment& environment, Store& store, Limit limit)
      : environment_(environment), store_(store), limit_(limit) {}

  void hold() {
    agree_on_world_size();
    take_rank();
    try {
      if (environment_.rank == 0) {
        store_.wait(rank_keys(), time_left());
        store_.set_text(all_are_here, "");
      } else {
        const std::string keys[] = {std::string(all_are_here)};
        store_.wait(keys, time_left());
      }
    } catch (const StoreError& error) {
      if (error.kind() != StoreErrorKind::timeout) throw;
      throw_who_is_missing();
    }
  }

 private:
  static constexpr std::string_view all_are_here = "all are here";

  void agree_on_world_size() {
    const std::string mine = std::to_string(environment_.world_size);
    const std::string agreed = store_.compare_set_text("world size", "", mine);
    if (agreed != mine)
      throw InvalidArgument(fmt::format(
          "WORLD_SIZE is {} for rank {}, but another process that came to {} was told {}", mine,
          environment_.rank, store_.description(), agreed));
  }

  void take_rank() {
    const std::string mine = own_name();
    const std::string token = fmt::format("{}, {}", mine, Clock::now().time_since_epoch().count());
    const std::string holder = store_.compare_set_text(rank_key(environment_.rank), "", token);
    if (holder != token)
      throw InvalidArgument(fmt::format(
          "RANK is {} for {}, but another process that came to {} has it: {}", environment_.rank,
          mine, store_.description(), holder.substr(0, holder.find(','))));
  }

  std::vector<std::string> rank_keys() const {
    std::vector<std::string> keys;
    for (int rank = 0; rank < environment_.world_size; ++rank) keys.push_back(rank_key(rank));
    return keys;
  }

  Duration time_left() const {
    if (limit_.timeout == no_timeout) return no_timeout;
    return std::max<Duration>(limit_.timeout - (Clock::now() - limit_.start),
                              std::chrono::milliseconds(1));
  }

  [[noreturn]] void throw_who_is_missing() {
    constexpr std::size_t most = 8;
    std::vector<int> missing;
    for (int rank = 0; rank < environment_.world_size; ++rank)
      if (!store_.try_get(rank_key(rank))) missing.push_back(rank);
    std::string text;
    for (std::size_t i = 0; i < std::min(most, missing.size()); ++i)
      text += (i == 0 ? "" : ", ") + std::to_string(missing[i]);
    if (missing.size() > most) text += fmt::format(" and {} more", missing.size() - most);
    const auto came = static_cast<std::size_t>(environment_.world_size) - missing.size();
    throw StoreError(
        StoreErrorKind::timeout,
        fmt::format("{} of {} ranks came to the store at {} within {}; missing: {}", came,
                    environment_.world_size, store_.description(), to_string(limit_.timeout),
                    missing.empty() ? "none by now" : text));
  }

  const Environment& environment_;
  Store& store_;
  Limit limit_;
};

// Other processes may still be asking their last questions when rank 0 has finished.
void stop_when_others_have_left(TcpStoreServer* server) {
  const Clock::time_point deadline = Clock::now() + longest_farewell;
  while (server->statistics().connections > 0 && Clock::now() < deadline)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::default_delete<TcpStoreServer>{}(server);
}

std::shared_ptr<TcpStoreServer> host_store(const Environment& environment) {
  TcpStoreServerOptions options{.port = environment.master_port};
  const std::string& host = environment.master_address;
  if (!host.empty()) options.address = is_loopback(host) ? host : "";
  return {std::make_unique<TcpStoreServer>(std::move(options)).release(),
          stop_when_others_have_left};
}

void check_address(const Environment& environment) {
  const auto refuse = [&environment](std::string_view name, std::string_view expected) {
    throw InvalidArgument(
        fmt::format("{} is not set, but the {} processes of this job need it to meet; must be {}",
                    name, environment.world_size, expected));
  };
  if (environment.master_address.empty())
    refuse("MASTER_ADDR", "the name or address of the host of rank 0");
  if (environment.master_port == 0) refuse("MASTER_PORT", "a free port of the host of rank 0");
}

}  // namespace

std::shared_ptr<Store> make_rendezvous_store(const Environment& environment, Duration timeout) {
  check_timeout("make_rendezvous_store", timeout);
  const bool is_alone = environment.world_size == 1 && !environment.use_agent_store;
  if (!is_alone) check_address(environment);
  const Clock::time_point start = Clock::now();
  TcpStoreOptions options{.timeout = timeout};  // on loopback
  if (!is_alone) options.host = environment.master_address;
  options.port = environment.master_port;
  if (environment.rank == 0 && !environment.use_agent_store) {
    options.server = is_alone ? host_store({}) : host_store(environment);
    options.port = options.server->port();
  }
  const std::shared_ptr<Store> whole = make_tcp_store(std::move(options));
  const std::string run = environment.run_id.empty() ? "run" : environment.run_id;
  auto store =
      make_prefix_store(fmt::format("gangsim/{}/{}", run, environment.restart_count), whole);
  Meeting(environment, *store, {.start = start, .timeout = timeout}).hold();
  return store;
}

}  // namespace gang
