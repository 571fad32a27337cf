// A rank's process in a test: the client's side of the protocol.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "harness/conductor/descriptor.h"
#include "tests/harness/conductor/client_frames.h"

namespace gang::harness::test {

// The conductor has refused the connection, has ended the run, or is gone. what() is its reason.
struct Refusal : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct RunEnded : std::runtime_error {
  using std::runtime_error::runtime_error;
};
struct Disconnected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Connects, as soon as somebody listens.
inline Descriptor connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.data(), path.size());
  for (int i = 0; i < 2000; ++i) {
    Descriptor socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
      return socket;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  throw Disconnected("nobody listens at " + path);
}

// Memory that a process can share.
class SharedMemory {
 public:
  explicit SharedMemory(std::size_t size)
      : descriptor_(::memfd_create("gangsim-test", MFD_CLOEXEC | MFD_ALLOW_SEALING)), size_(size) {
    if (::ftruncate(descriptor_.get(), static_cast<off_t>(size)) != 0 ||
        ::fcntl(descriptor_.get(), F_ADD_SEALS, F_SEAL_SHRINK) != 0)
      throw std::runtime_error("no shared memory");
    data_ = static_cast<std::byte*>(
        ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor_.get(), 0));
  }
  ~SharedMemory() { ::munmap(data_, size_); }
  SharedMemory(const SharedMemory&) = delete;
  SharedMemory& operator=(const SharedMemory&) = delete;

  int descriptor() const noexcept { return descriptor_.get(); }
  std::size_t size() const noexcept { return size_; }
  template <typename T>
  T* at(std::size_t offset_bytes) const noexcept {
    return reinterpret_cast<T*>(data_ + offset_bytes);
  }

 private:
  Descriptor descriptor_;
  std::size_t size_;
  std::byte* data_ = nullptr;
};

// One connection. Blocks where the protocol has an answer. Threads: one at a time.
class Client {
 public:
  // A caller of this process and thread.
  static HelloMessage caller(int rank, int world_size, std::string thread_name = "MainThread") {
    return {.version = protocol_version,
            .rank = rank,
            .world_size = world_size,
            .process = static_cast<std::uint32_t>(::getpid()),
            .thread = static_cast<std::uint32_t>(::syscall(SYS_gettid)),
            .thread_name = std::move(thread_name)};
  }

  // Throws Refusal unless the conductor welcomes it.
  Client(const std::string& path, const HelloMessage& hello)
      : path_(path), hello_(hello), socket_(connect_to(path)) {
    send(frame_of(hello));
    const Frame frame = receive();
    FrameReader welcome(frame);
    if (kind_of(welcome) == ServerKind::refused) throw Refusal(std::string(welcome.text()));
    version_ = welcome.number<std::uint32_t>();
    world_size_ = welcome.number<std::int32_t>();
    seed_ = welcome.number<std::uint64_t>();
    welcome.finish();
  }

  int rank() const noexcept { return hello_.rank; }
  std::uint32_t version() const noexcept { return version_; }
  int world_size() const noexcept { return world_size_; }
  std::uint64_t seed() const noexcept { return seed_; }
  const std::string& path() const noexcept { return path_; }

  // How many threads of the process have never said hello, as later calls will say.
  void set_silent_threads(std::uint32_t count) noexcept { silent_threads_ = count; }

  Result call(OperationMessage message) {
    start(std::move(message), true);
    return results().at(0);
  }
  std::uint64_t start(OperationMessage message, bool is_blocking = false) {
    message.id = next_id();
    message.is_blocking = is_blocking;
    message.threads = silent_threads_;
    send(frame_of(message));
    return message.id;
  }
  std::vector<Result> wait(const std::vector<std::uint64_t>& ids) {
    send(frame_of(WaitMessage{.ids = ids, .threads = silent_threads_}));
    return results();
  }
  std::size_t wait_any(const std::vector<std::uint64_t>& ids) {
    send(frame_of(WaitMessage{.ids = ids, .is_for_any = true, .threads = silent_threads_}));
    const Frame frame = answer(ServerKind::first);
    FrameReader reader(frame);
    kind_of(reader);
    return reader.number<std::uint32_t>();
  }
  Result wait(std::uint64_t id) { return wait(std::vector{id}).at(0); }
  bool test(std::uint64_t id) {
    send(frame_of(TestMessage{id}));
    const Frame frame = answer(ServerKind::tested);
    return frame.at(1) != std::byte{0};
  }
  Result group(std::uint32_t number, std::string name, std::vector<int> ranks) {
    send(frame_of(
        GroupMessage{.group = number, .name = std::move(name), .ranks = std::move(ranks)}));
    return results().at(0);
  }
  Stored store(StoreMessage message) {
    message.threads = silent_threads_;
    send(frame_of(message));
    const Frame frame = answer(ServerKind::stored);
    return stored_in(frame);
  }
  void block(std::uint32_t number, const SharedMemory& memory) {
    send(frame_of(BlockMessage{number, memory.size()}), memory.descriptor());
  }
  // Anything that is not answered.
  template <typename Message>
  void tell(const Message& message) {
    send(frame_of(message));
  }
  void bye() { tell(ByeMessage{}); }

  // As they are; with a descriptor unless it is negative.
  void send(std::span<const std::byte> bytes, int descriptor = -1) {
    while (!bytes.empty()) {
      iovec part{.iov_base = const_cast<std::byte*>(bytes.data()), .iov_len = bytes.size()};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
      msghdr message{};
      message.msg_iov = &part;
      message.msg_iovlen = 1;
      if (descriptor >= 0) {
        message.msg_control = control;
        message.msg_controllen = sizeof control;
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

  // The next frame that is not a question for the stack, which it answers.
  Frame receive() {
    for (;;) {
      std::uint32_t size = 0;
      read_into(std::as_writable_bytes(std::span(&size, 1)));
      Frame frame(size);
      read_into(frame);
      if (frame.at(0) != static_cast<std::byte>(ServerKind::ask_stack)) return frame;
      send(frame_of(stack_));
    }
  }
  void set_stack(StackMessage stack) { stack_ = std::move(stack); }

  void disconnect() noexcept { socket_.close(); }
  // Nothing follows, but answers can still be read.
  void end_sending() const noexcept { ::shutdown(socket_.get(), SHUT_WR); }

 private:
  static ServerKind kind_of(FrameReader& frame) {
    return static_cast<ServerKind>(frame.number<std::uint8_t>());
  }

  // Ids are those of a process.
  static std::uint64_t next_id() {
    static std::atomic<std::uint64_t> last = 0;
    return ++last;
  }

  void read_into(std::span<std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t got = ::recv(socket_.get(), bytes.data(), bytes.size(), 0);
      if (got <= 0) throw Disconnected("the conductor has closed the connection");
      bytes = bytes.subspan(static_cast<std::size_t>(got));
    }
  }

  Frame answer(ServerKind expected) {
    Frame frame = receive();
    FrameReader reader(frame);
    const ServerKind kind = kind_of(reader);
    if (kind == ServerKind::over) {
      reader.number<std::uint8_t>();
      throw RunEnded(std::string(reader.text()));
    }
    if (kind != expected) throw std::logic_error("an answer of another kind");
    return frame;
  }
  std::vector<Result> results() { return results_in(answer(ServerKind::done)); }

  std::string path_;
  HelloMessage hello_;
  Descriptor socket_;
  std::uint32_t version_ = 0;
  int world_size_ = 0;
  std::uint64_t seed_ = 0;
  std::uint32_t silent_threads_ = 0;
  StackMessage stack_;
};

}  // namespace gang::harness::test
