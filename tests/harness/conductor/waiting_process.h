// A process whose threads wait.
#pragma once

#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string_view>
#include <thread>

#include <gtest/gtest.h>

#include "harness/conductor/rest.h"

namespace gang::harness::waiting {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

// A semaphore that nobody posts, of this process alone or of several.
inline sem_t* make_semaphore(bool is_shared = false) {
  void* const memory =
      ::mmap(nullptr, sizeof(sem_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  auto* const semaphore = static_cast<sem_t*>(memory);
  ::sem_init(semaphore, is_shared ? 1 : 0, 0);
  return semaphore;
}

inline void wait_for_lock() { ::sem_wait(make_semaphore()); }

inline void wait_for_lock_with_timeout() {
  timespec end{};
  ::clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 1000;
  ::sem_timedwait(make_semaphore(), &end);
}

inline void work_for(Duration duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

// A process with a main thread and another one, which has a connection to us.
class TwoThreads {
 public:
  TwoThreads(const std::function<void()>& main, const std::function<void(int socket)>& other) {
    int sockets[2] = {};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    process_.id = ::fork();
    if (process_.id == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      std::thread([&] {
        const auto id = static_cast<std::uint32_t>(::syscall(SYS_gettid));
        static_cast<void>(::write(sockets[1], &id, sizeof id));
        other(sockets[1]);
      }).detach();
      for (;;) main();
    }
    ::close(sockets[1]);
    socket_ = Descriptor(sockets[0]);
    std::uint32_t thread = 0;
    EXPECT_EQ(::read(socket_.get(), &thread, sizeof thread), static_cast<ssize_t>(sizeof thread));
    process_.callers.push_back(std::make_unique<Caller>(Descriptor()));
    caller().hello.thread = thread;
  }
  ~TwoThreads() {
    ::kill(process_.id, SIGKILL);
    ::waitpid(process_.id, nullptr, 0);
  }
  TwoThreads(const TwoThreads&) = delete;
  TwoThreads& operator=(const TwoThreads&) = delete;

  RankProcess& process() { return process_; }
  const RankProcess& process() const { return process_; }
  Caller& caller() { return *process_.callers.front(); }
  int socket() const { return socket_.get(); }
  void answer() { static_cast<void>(::write(socket_.get(), "", 1)); }

  bool comes_to(Stillness expected) {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    while (stillness_of(process_) != expected && std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(1ms);
    return stillness_of(process_) == expected;
  }
  bool comes_to_rest() { return comes_to(Stillness::at_rest); }
  bool stays_awake() {
    for (int i = 0; i < 50; ++i) {
      if (stillness_of(process_) != Stillness::none) return false;
      std::this_thread::sleep_for(2ms);
    }
    return true;
  }

 private:
  RankProcess process_;
  Descriptor socket_;
};

// Why no process comes to rest; empty where they do.
inline std::string_view why_none_rests() noexcept {
#if defined(__SANITIZE_THREAD__)
  return "ThreadSanitizer has a thread of its own in each process, which sleeps";
#else
  return "";
#endif
}

// Makes a call, and waits for its answer.
inline void make_call(int socket) {
  char answer = 0;
  static_cast<void>(::read(socket, &answer, 1));
}

}  // namespace gang::harness::waiting
