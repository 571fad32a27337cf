// Where the processes of ranks connect.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "harness/conductor/poller.h"
#include "harness/conductor/rank_process.h"

namespace gang::harness {

// Listens on a socket that only this user can reach, and hears the hellos. Whoever does not speak
// the protocol is refused.
class Lobby {
 public:
  // A caller or a watcher has said hello. Returns why it is refused; empty: it is welcome, and
  // `caller` has been taken.
  using Receive = std::function<std::string(std::unique_ptr<Caller>& caller, pid_t process)>;

  // Listens at `path`; empty: in a new folder of its own. Throws InvalidArgument if it cannot.
  Lobby(Poller& poller, std::string path, Receive receive);
  ~Lobby();
  Lobby(const Lobby&) = delete;
  Lobby& operator=(const Lobby&) = delete;

  const std::string& path() const noexcept { return path_; }

  // What it has made in the file system: the folder, or the socket.
  const std::string& remains() const noexcept { return folder_.empty() ? path_ : folder_; }

  // What `welcome` says.
  void set_world(int world_size, std::uint64_t seed) noexcept {
    world_size_ = world_size;
    seed_ = seed;
  }
  void set_stream_ordered(bool is_stream_ordered) noexcept {
    is_stream_ordered_ = is_stream_ordered;
  }

 private:
  void accept();
  void hear(int descriptor);
  std::string judge(std::unique_ptr<Caller>& caller);

  Poller& poller_;
  Receive receive_;
  std::string folder_;  // to be removed; empty: the caller's
  std::string path_;
  Descriptor listener_;
  std::map<int, std::unique_ptr<Caller>> silent_;  // have not said hello, by descriptor
  int world_size_ = 0;
  std::uint64_t seed_ = 1;
  bool is_stream_ordered_ = false;
};

}  // namespace gang::harness
