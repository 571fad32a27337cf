#include "harness/conductor/client.h"

#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include <fmt/format.h>

namespace gang::harness {
namespace {

// Ids are those of a process.
std::uint64_t next_id() {
  static std::atomic<std::uint64_t> last = 0;
  return ++last;
}

}  // namespace

Descriptor connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path)
    throw Disconnected(fmt::format("the path of the socket, {}, is too long", path));
  std::memcpy(address.sun_path, path.data(), path.size());
  for (int i = 0; i < 10'000; ++i) {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return socket;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  throw Disconnected("nobody listens at " + path);
}

HelloMessage Client::caller(int rank, int world_size, std::string thread_name) {
  return {.version = protocol_version,
          .rank = rank,
          .world_size = world_size,
          .process = static_cast<std::uint32_t>(::getpid()),
          .thread = static_cast<std::uint32_t>(::syscall(SYS_gettid)),
          .thread_name = std::move(thread_name)};
}

Client::Client(std::string path, const HelloMessage& hello)
    : path_(std::move(path)), hello_(hello), socket_(connect_to(path_)) {
  tell(hello);
  ServerMessage answer = receive();
  if (const auto* const refused = std::get_if<RefusedMessage>(&answer))
    throw Refusal(refused->reason);
  welcome_ = std::get<WelcomeMessage>(answer);
}

// -- Requests --

ServerMessage Client::any_answer() {
  if (verdict_) throw RunEnded(*verdict_);
  ServerMessage message = receive();
  if (const auto* const over = std::get_if<OverMessage>(&message))
    throw RunEnded(*(verdict_ = over->error));
  return message;
}

template <typename Message>
Message Client::as(ServerMessage message) {
  if (auto* const expected = std::get_if<Message>(&message)) return std::move(*expected);
  throw ProtocolError(
      fmt::format("the conductor gave answer {} to another question", message.index()));
}

template <typename Message>
Message Client::answer() {
  return as<Message>(any_answer());
}

std::vector<OperationResult> Client::results() { return answer<DoneMessage>().results; }

std::uint64_t Client::send_operation(OperationMessage message, bool is_blocking) {
  message.id = next_id();
  message.is_blocking = is_blocking;
  message.threads = silent_threads_;
  const std::uint64_t id = message.id;
  tell(std::move(message));
  return id;
}

OperationResult Client::call(OperationMessage message) {
  send_operation(std::move(message), true);
  return results().at(0);
}

std::uint64_t Client::start(OperationMessage message) {
  return send_operation(std::move(message), false);
}

std::vector<OperationResult> Client::wait(const std::vector<std::uint64_t>& ids) {
  tell(WaitMessage{.ids = ids, .threads = silent_threads_, .call_site = {}});
  return results();
}

std::vector<OperationResult> Client::wait_for(const std::vector<std::uint64_t>& ids,
                                              Duration timeout) {
  tell(WaitMessage{.ids = ids, .timeout = timeout, .threads = silent_threads_, .call_site = {}});
  ServerMessage message = any_answer();
  if (std::holds_alternative<TestedMessage>(message)) return {};
  return as<DoneMessage>(std::move(message)).results;
}

std::size_t Client::wait_any(const std::vector<std::uint64_t>& ids) {
  tell(WaitMessage{.ids = ids, .is_for_any = true, .threads = silent_threads_, .call_site = {}});
  return answer<FirstMessage>().index;
}

bool Client::test(std::uint64_t id) {
  tell(TestMessage{.id = id, .threads = silent_threads_});
  return answer<TestedMessage>().is_complete;
}

OperationResult Client::group(std::uint32_t number, std::string name, std::vector<int> ranks) {
  GroupMessage message;
  message.group = number;
  message.name = std::move(name);
  message.ranks = std::move(ranks);
  tell(std::move(message));
  return results().at(0);
}

StoredMessage Client::store(StoreMessage message) {
  message.threads = silent_threads_;
  tell(std::move(message));
  return answer<StoredMessage>();
}

void Client::block(std::uint32_t number, int memory, std::uint64_t size) {
  send(frame_of(BlockMessage{number, size}), memory);
}

// -- Frames --

void Client::send(std::span<const std::byte> bytes, int descriptor) {
  while (!bytes.empty()) {
    iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
    alignas(cmsghdr) std::array<char, CMSG_SPACE(sizeof(int))> control{};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    if (descriptor >= 0) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* const rights = CMSG_FIRSTHDR(&message);
      rights->cmsg_level = SOL_SOCKET;
      rights->cmsg_type = SCM_RIGHTS;
      rights->cmsg_len = CMSG_LEN(sizeof(int));
      std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
      descriptor = -1;
    }
    const ssize_t sent = ::sendmsg(socket_.get(), &message, MSG_NOSIGNAL);
    if (sent < 0) throw Disconnected("the conductor does not listen any more");
    bytes = bytes.subspan(static_cast<std::size_t>(sent));
  }
}

void Client::read_into(std::span<std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
    if (got <= 0) throw Disconnected("the conductor has closed the connection");
    bytes = bytes.subspan(static_cast<std::size_t>(got));
  }
}

ServerMessage Client::receive() {
  for (;;) {
    std::uint32_t size = 0;
    read_into(std::as_writable_bytes(std::span(&size, 1)));
    if (size > most_frame_bytes)
      throw ProtocolError(fmt::format("the conductor sent a frame of {} bytes", size));
    Frame frame(size);
    read_into(frame);
    ServerMessage message = parse_server_message(frame);
    if (!std::holds_alternative<AskStackMessage>(message)) return message;
    tell(stack_);
  }
}

void Client::end_sending() const noexcept { ::shutdown(socket_.get(), SHUT_WR); }

}  // namespace gang::harness
