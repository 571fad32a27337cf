#include "gang/store/tcp_store_link.h"

#include <algorithm>
#include <thread>

#include <fmt/format.h>

#include "gang/store/host_resolution.h"

namespace gang {
namespace {

using Clock = TcpStoreConnection::Clock;

// A 1.13 server takes the greeting of 2.x for a set, and its last three bytes for the upper bytes
// of the key's length, which is so large that it closes the connection and does not wait.
constexpr std::uint32_t greeting_nonce = 0x47FFFFFF;
constexpr std::array greeting_answer = {std::byte{0xFF}, std::byte{0xFF}, std::byte{0xFF},
                                        std::byte{0x47}};

// The time that a server gets for its last answer to a wait, beyond the wait's own deadline.
constexpr Clock::duration answer_time = std::chrono::seconds(1);

constexpr std::uint64_t max_reply_bytes = std::uint64_t{1} << 30U;
constexpr std::size_t reply_step_bytes = std::size_t{1} << 20U;

std::vector<std::byte> bytes_of(std::span<const std::byte> view) {
  return {view.begin(), view.end()};
}

// A request that does nothing, and is answered when all requests before it are done.
TcpStoreRequest question_without_effect(TcpStoreDialect dialect) {
  if (dialect == TcpStoreDialect::pytorch_2)
    return {.command = TcpStoreCommand::ping, .number = greeting_nonce};
  return {.command = TcpStoreCommand::check};
}

std::string in_hexadecimal(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte byte : bytes) text += fmt::format("{:02x}", std::to_integer<unsigned>(byte));
  return text;
}

[[noreturn]] void throw_not_a_store(std::string_view what) {
  throw StoreError(StoreErrorKind::dialect, std::string(what));
}

}  // namespace

TcpStoreLink::TcpStoreLink(const Token& token) : token_(token) {}

void TcpStoreLink::connect(const TcpStoreAddress& address, TcpStoreDialect dialect,
                           Deadline deadline) {
  constexpr Clock::duration longest_pause = std::chrono::milliseconds(500);
  const auto is_cancelled = [this] { return connection_.is_interrupted(); };
  for (Clock::duration time = std::chrono::milliseconds(5);;
       time = std::min(2 * time, longest_pause)) {
    try {
      return attempt(addresses_of(address.host, deadline, is_cancelled), address.port, dialect,
                     deadline);
    } catch (const StoreError& error) {
      if (error.kind() != StoreErrorKind::connection) throw;
      const Clock::duration left = deadline - Clock::now();
      pause(std::min(time, left));
      // An attempt that is cut short would hide the errors of the others.
      if (left < 2 * time) throw;
    }
  }
}

void TcpStoreLink::attempt(std::span<const std::string> addresses, std::uint16_t port,
                           TcpStoreDialect dialect, Deadline deadline) {
  const bool is_automatic = dialect == TcpStoreDialect::automatic;
  const TcpStoreDialect first = is_automatic ? TcpStoreDialect::pytorch_2 : dialect;
  connection_.connect(addresses, port, deadline);
  if (try_greet(first, deadline)) return;
  if (!is_automatic)
    throw_not_a_store(
        fmt::format("the server does not speak the dialect of {}: it closed the "
                    "connection at the greeting",
                    to_string(dialect)));
  connection_.connect(addresses, port, deadline);
  if (!try_greet(TcpStoreDialect::pytorch_1_13, deadline))
    throw_not_a_store(
        "the server speaks neither dialect of PyTorch's stores: it closed the "
        "connection at the greeting");
}

// False if the other side closed the connection, as a server of another dialect does.
bool TcpStoreLink::try_greet(TcpStoreDialect dialect, Deadline deadline) {
  const bool is_2 = dialect == TcpStoreDialect::pytorch_2;
  Bytes greeting;
  if (is_2) encode({.command = TcpStoreCommand::validate}, dialect, greeting);
  encode(question_without_effect(dialect), dialect, greeting);
  std::array<std::byte, 4> answer{};
  const std::span expected = std::span(answer).first(is_2 ? 4 : 1);
  try {
    connection_.send(greeting, deadline);  // in one piece: PyTorch's libuv server needs it
    if (!connection_.try_receive(expected, deadline))
      throw StoreError(StoreErrorKind::timeout,
                       fmt::format("the peer at that address does not answer the greeting of {}",
                                   to_string(dialect)));
  } catch (const StoreError& error) {
    if (error.kind() == StoreErrorKind::connection) return false;
    throw;
  }
  const bool is_right = is_2 ? answer == greeting_answer : answer[0] == tcp_store_reply::ready;
  if (!is_right)
    throw_not_a_store(
        fmt::format("the peer at that address is not a store: it answered the greeting of {} "
                    "with {}",
                    to_string(dialect), in_hexadecimal(expected)));
  dialect_ = dialect;
  return true;
}

void TcpStoreLink::pause(Clock::duration duration) const {
  const Clock::time_point end = Clock::now() + duration;
  while (Clock::now() < end && !connection_.is_interrupted())
    std::this_thread::sleep_for(
        std::min<Clock::duration>(end - Clock::now(), std::chrono::milliseconds(5)));
}

void TcpStoreLink::set(std::string_view key, BytesView value, Deadline deadline) {
  send_and_confirm(
      {.command = TcpStoreCommand::set, .keys = {std::string(key)}, .values = {bytes_of(value)}},
      deadline);
}

void TcpStoreLink::append(std::string_view key, BytesView value, Deadline deadline) {
  send_and_confirm(
      {.command = TcpStoreCommand::append, .keys = {std::string(key)}, .values = {bytes_of(value)}},
      deadline);
}

// By a comparison that is never equal: it returns the value, or the token if there is none, and
// changes nothing. A get of a key that is deleted in the meantime would cost the connection.
std::optional<TcpStoreLink::Bytes> TcpStoreLink::read(std::string_view key, Deadline deadline) {
  Bytes value = compare_set(key, token_, token_, deadline);
  if (std::ranges::equal(value, token_)) return std::nullopt;
  return value;
}

// Asks first: PyTorch's libuv server would tell clients waiting for a missing key that it exists.
std::optional<TcpStoreLink::Bytes> TcpStoreLink::find(std::string_view key, Deadline deadline) {
  const std::string keys[] = {std::string(key)};
  if (!check(keys, deadline)) return std::nullopt;
  return read(key, deadline);
}

std::int64_t TcpStoreLink::add(std::string_view key, std::int64_t delta, Deadline deadline) {
  send({.command = TcpStoreCommand::add, .keys = {std::string(key)}, .number = delta}, deadline);
  return receive_number(deadline);
}

TcpStoreLink::Bytes TcpStoreLink::compare_set(std::string_view key, BytesView expected,
                                              BytesView desired, Deadline deadline) {
  send({.command = TcpStoreCommand::compare_set,
        .keys = {std::string(key)},
        .values = {bytes_of(expected), bytes_of(desired)}},
       deadline);
  return receive_bytes(deadline);
}

bool TcpStoreLink::check(std::span<const std::string> keys, Deadline deadline) {
  send({.command = TcpStoreCommand::check, .keys = {keys.begin(), keys.end()}}, deadline);
  const std::byte answer = receive_byte(deadline);
  if (answer != tcp_store_reply::ready && answer != tcp_store_reply::not_ready)
    throw StoreError(StoreErrorKind::corrupt,
                     "the server answered a check with neither yes nor no");
  return answer == tcp_store_reply::ready;
}

bool TcpStoreLink::delete_key(std::string_view key, Deadline deadline) {
  send({.command = TcpStoreCommand::delete_key, .keys = {std::string(key)}}, deadline);
  return receive_number(deadline) > 0;
}

std::int64_t TcpStoreLink::num_keys(Deadline deadline) {
  send({.command = TcpStoreCommand::num_keys}, deadline);
  return receive_number(deadline);
}

bool TcpStoreLink::wait(std::span<const std::string> keys, Deadline deadline) {
  const bool is_2 = dialect_ == TcpStoreDialect::pytorch_2;
  const Clock::duration longest = std::chrono::milliseconds(is_2 ? 1000 : 25);
  Clock::duration time = std::chrono::milliseconds(is_2 ? 50 : 1);
  while (true) {
    const Deadline end = deadline - Clock::now() > time ? Clock::now() + time : deadline;
    const Deadline answer_deadline = std::max(deadline, Clock::now() + answer_time);
    if (is_2 && wait_at_server(keys, end, answer_deadline)) return true;
    if (check(keys, answer_deadline)) return true;
    if (Clock::now() >= deadline) return false;
    if (!is_2) pause(end - Clock::now());
    time = std::min(2 * time, longest);
  }
}

bool TcpStoreLink::wait_at_server(std::span<const std::string> keys, Deadline deadline,
                                  Deadline answer_deadline) {
  send({.command = TcpStoreCommand::wait, .keys = {keys.begin(), keys.end()}}, answer_deadline);
  std::array<std::byte, 1> answer{};
  if (connection_.try_receive(answer, deadline)) {
    if (answer[0] != tcp_store_reply::stop_waiting)
      throw StoreError(StoreErrorKind::corrupt, "the server ended a wait without a reason");
    return true;
  }
  send({.command = TcpStoreCommand::cancel_wait}, answer_deadline);
  // The keys may have come while the cancellation was on its way; then there are two answers.
  const bool have_come = receive_byte(answer_deadline) == tcp_store_reply::stop_waiting;
  if (have_come) receive_byte(answer_deadline);
  return have_come;
}

void TcpStoreLink::send(const TcpStoreRequest& request, Deadline deadline) {
  Bytes out;
  encode(request, dialect_, out);
  connection_.send(out, deadline);
}

// The server does not answer a change, but answers what follows when the change is done.
void TcpStoreLink::send_and_confirm(const TcpStoreRequest& request, Deadline deadline) {
  Bytes out;
  encode(request, dialect_, out);
  encode(question_without_effect(dialect_), dialect_, out);
  connection_.send(out, deadline);
  std::array<std::byte, 4> answer{};
  const bool is_2 = dialect_ == TcpStoreDialect::pytorch_2;
  connection_.receive(std::span(answer).first(is_2 ? 4 : 1), deadline);
  if (is_2 ? answer != greeting_answer : answer[0] != tcp_store_reply::ready)
    throw StoreError(StoreErrorKind::corrupt, "the server confirmed a different request");
}

TcpStoreLink::Bytes TcpStoreLink::receive_bytes(Deadline deadline) {
  const auto size = static_cast<std::uint64_t>(receive_number(deadline));
  if (size > max_reply_bytes)
    throw StoreError(StoreErrorKind::corrupt,
                     fmt::format("the server announced a value of {} bytes", size));
  Bytes bytes;
  while (bytes.size() < size) {
    const std::size_t have = bytes.size();
    bytes.resize(have +
                 static_cast<std::size_t>(std::min<std::uint64_t>(size - have, reply_step_bytes)));
    connection_.receive(std::span(bytes).subspan(have), deadline);
  }
  return bytes;
}

std::int64_t TcpStoreLink::receive_number(Deadline deadline) {
  std::array<std::byte, 8> bytes{};
  connection_.receive(bytes, deadline);
  return static_cast<std::int64_t>(decode_u64(bytes));
}

std::byte TcpStoreLink::receive_byte(Deadline deadline) {
  std::array<std::byte, 1> byte{};
  connection_.receive(byte, deadline);
  return byte[0];
}

}  // namespace gang
