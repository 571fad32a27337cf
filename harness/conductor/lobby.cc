#include "harness/conductor/lobby.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "gang/error.h"

namespace gang::harness {
namespace {

std::string make_folder() {
  std::string folder = (std::filesystem::temp_directory_path() / "gangsim-XXXXXX").string();
  if (::mkdtemp(folder.data()) == nullptr)  // mode 0700
    throw InvalidArgument(fmt::format("no folder for the socket can be made in {}: {}",
                                      std::filesystem::temp_directory_path().string(),
                                      std::strerror(errno)));
  return folder;
}

pid_t peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

}  // namespace

Lobby::Lobby(Poller& poller, std::string path, Receive receive)
    : poller_(poller), receive_(std::move(receive)), path_(std::move(path)) {
  if (path_.empty()) {
    folder_ = make_folder();
    path_ = folder_ + "/socket";
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path_.size() >= sizeof address.sun_path)
    throw InvalidArgument(
        fmt::format("the path of the socket, {}, has {} bytes; must be at most {}", path_,
                    path_.size(), sizeof address.sun_path - 1));
  std::memcpy(address.sun_path, path_.data(), path_.size());
  listener_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const mode_t old_mask = ::umask(0077);
  const bool listens =
      ::bind(listener_.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::listen(listener_.get(), SOMAXCONN) == 0;
  const int error = errno;
  ::umask(old_mask);
  if (!listens)
    throw InvalidArgument(fmt::format("cannot listen at {}: {}", path_, std::strerror(error)));
  poller_.add(listener_.get(), [this] { accept(); });
}

Lobby::~Lobby() {
  poller_.remove(listener_.get());
  for (const auto& [descriptor, caller] : silent_) poller_.remove(descriptor);
  std::error_code ignored;
  std::filesystem::remove(path_, ignored);
  if (!folder_.empty()) std::filesystem::remove(folder_, ignored);
}

void Lobby::accept() {
  Descriptor socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket.is_open()) return;
  const int descriptor = socket.get();
  silent_[descriptor] = std::make_unique<Caller>(std::move(socket));
  poller_.add(descriptor, [this, descriptor] { hear(descriptor); });
}

void Lobby::hear(int descriptor) {
  std::unique_ptr<Caller>& silent = silent_[descriptor];
  // Closing it would hide the descriptor from the poller.
  silent->connection.receive();
  if (!silent->connection.has_frame() && silent->connection.is_open()) return;
  poller_.remove(descriptor);
  std::unique_ptr<Caller> caller = std::move(silent);
  silent_.erase(descriptor);
  // Who is gone already cannot be answered.
  if (!caller->connection.has_frame() || !caller->connection.is_open()) return;
  const std::string reason = judge(caller);
  if (caller == nullptr || reason.empty()) return;
  caller->connection.send(frame_of(RefusedMessage{reason}));
}

std::string Lobby::judge(std::unique_ptr<Caller>& caller) {
  KeptTexts texts;
  try {
    const Frame frame = caller->connection.take();
    ClientMessage message = parse_message(frame, texts);
    if (!std::holds_alternative<HelloMessage>(message)) return "the first frame must be a hello";
    caller->hello = std::get<HelloMessage>(std::move(message));
  } catch (const ProtocolError& error) {
    return error.what();
  }
  if (caller->hello.version != protocol_version)
    return fmt::format("this gangsim speaks version {} of the protocol, the client version {}",
                       protocol_version, caller->hello.version);
  Connection& connection = caller->connection;
  std::string reason = receive_(caller, peer_of(connection.descriptor()));
  if (!reason.empty()) return reason;
  connection.send(frame_of(WelcomeMessage{
      .world_size = world_size_, .seed = seed_, .is_stream_ordered = is_stream_ordered_}));
  return "";
}

}  // namespace gang::harness
